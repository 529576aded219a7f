// Asking providers whether accounts still exist. A rotated token is kept even if something else
// fails. A refusal disables the user if the setting says so, and nothing but a refusal does. Tested
// against a provider with chosen errors; real-refresh.test.ts has a real one.

import test, { type ExecutionContext } from 'ava';
import { provisionUser } from '../../../../lib/auth/identity/provision.ts';
import { OidcClients } from '../../../../lib/auth/oidc/client.ts';
import {
  nextRefresh,
  REFRESH_EVERY_MS,
  type RefreshContext,
  Refresher,
  startRefreshing,
} from '../../../../lib/auth/oidc/refresh.ts';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import {
  type Database,
  GATEWAY,
  type IdentityTokens,
  keepTokens,
  migrate,
  type OpenidConnectProvider,
  readAuditEntries,
  type User,
} from '../../../../models/index.ts';
import { addIdentity, addUser, write } from '../../../models/fixtures.ts';
import { type BadProvider, openBadProvider } from '../../../support/auth/bad-openid-provider.ts';
import {
  firstKind,
  makePlace,
  openAt,
  openDatabase,
  type TestDatabaseKind,
} from '../../../support/database/databases.ts';
import { oidcEntry } from '../../../support/auth/provider-entries.ts';
import { untilHolds } from '../../../support/api/running-capture.ts';
import { type LogLine, logInto } from '../../../support/api/server.ts';

const limits = { timeoutMs: 8_000, bytesMax: 50_000 };
const JSON_TYPE = { 'content-type': 'application/json' };

interface World {
  database: Database;
  idp: BadProvider;
  context: RefreshContext & { clients: OidcClients };
  settings: {
    openid_connect_providers: OpenidConnectProvider[];
    disable_vpn_on_oidc_error: boolean;
  };
  log: LogLine[];
  /** Lets this much time pass. */
  pass: (ms: number) => void;
  user: () => Promise<User>;
  tokens: () => Promise<IdentityTokens>;
}

/** A provider, and a person who signed in through it. */
async function open(t: ExecutionContext, kind: TestDatabaseKind, given?: Database): Promise<World> {
  const database = given ?? (await openDatabase(t, kind));
  const idp = await openBadProvider(t);
  const provider = oidcEntry({ discovery_document_uri: idp.discoveryUri });
  const settings = { openid_connect_providers: [provider], disable_vpn_on_oidc_error: true };
  const log: LogLine[] = [];
  let nowMs = Date.now();
  let revision = 0;
  const context = {
    database,
    log: logInto(log),
    counters: new Counters(),
    hearGroups: async () => undefined,
    clients: new OidcClients(limits),
    settings: async () => settings,
    // Tests change the settings without a write.
    revision: () => (revision += 1),
    now: () => new Date(nowMs),
  };
  await provisionUser(
    database,
    {
      kind: 'oidc',
      provider_id: provider.id,
      issuer: idp.origin,
      subject: 'subject-1',
      email: 'person@example.com',
      isEmailVerified: true,
      isBindable: true,
    },
    { autoCreateUsers: true, authority: provider.discovery_document_uri },
    {
      origin: GATEWAY,
      now: new Date(nowMs),
      tokens: { kept: { refreshToken: 'refresh-0' }, refreshAt: nextRefresh(new Date(nowMs)) },
    },
  );
  // Tokens of a refresh carry no nonce.
  idp.bent.claims = { nonce: undefined };
  return {
    database,
    idp,
    context,
    settings,
    log,
    pass: (ms) => (nowMs += ms),
    user: () => database.models.User.findOne({ rejectOnEmpty: true }),
    tokens: () => database.models.IdentityTokens.findOne({ rejectOnEmpty: true }),
  };
}

function refuse(idp: BadProvider, status = 400, error = 'invalid_grant'): void {
  idp.bent.answer = (response) =>
    void response.writeHead(status, JSON_TYPE).end(JSON.stringify({ error }));
}

/** What ends the turns of an account. */
const ABANDONED = ['other_issuer', 'provider_gone'];
const TURN_MS = REFRESH_EVERY_MS * 1.2;

test('a refresh finds the method that the provider takes, and logs what it says', async (t) => {
  const { context, idp, pass, tokens, user, log, settings } = await open(t, 'sqlite');
  const refresher = new Refresher(context);
  idp.bent.takes = 'client_secret_post';
  pass(TURN_MS);
  await refresher.look();
  t.is(idp.asked.length, 2);
  t.is((await tokens()).error, null);
  t.is((await tokens()).tokens.refreshToken, 'refresh-2');
  pass(TURN_MS);
  await refresher.look();
  t.is(idp.asked.length, 3, 'it is remembered');
  const [entry] = settings.openid_connect_providers;
  settings.openid_connect_providers = [oidcEntry({ ...entry, client_secret: 'wrong' })];
  pass(TURN_MS);
  await refresher.look();
  t.is(idp.asked.length, 5);
  t.is((await user()).disabled_at, null, 'our client is wrong, not the account');
  const said = log.map(
    ({ fields }) => (fields as { error_description?: string }).error_description,
  );
  t.true(said.some((text) => text?.includes('client_secret_post: secret mismatch')));
});

test('turns are about ten minutes apart', (t) => {
  const now = new Date();
  const turns = Array.from({ length: 200 }, () => nextRefresh(now).getTime() - now.getTime());
  t.true(turns.every((ms) => ms >= 9 * 60_000 && ms <= 11 * 60_000));
  t.true(new Set(turns).size > 50, 'and not all at once');
});

for (const kind of firstKind()) {
  test(`${kind}: an account is checked when its turn comes, and a rotated token is kept`, async (t) => {
    const { context, idp, pass, tokens, user } = await open(t, kind);
    const refresher = new Refresher(context);
    await refresher.look();
    t.is(idp.asked.length, 0, 'not yet');
    pass(TURN_MS);
    await refresher.look();
    t.is(idp.asked[0]?.['grant_type'], 'refresh_token');
    t.is(idp.asked[0]?.['refresh_token'], 'refresh-0');
    t.is((await tokens()).tokens.refreshToken, 'refresh-1');
    t.is((await tokens()).error, null);
    pass(TURN_MS);
    await refresher.look();
    t.is(idp.asked[1]?.['refresh_token'], 'refresh-1');
    t.is(context.counters.of('refreshes', 'good'), 2);
    t.is((await user()).disabled_at, null);
  });

  test(`${kind}: a refusal disables the user and ends the sessions, once`, async (t) => {
    const { context, idp, pass, tokens, user, database } = await open(t, kind);
    refuse(idp);
    pass(TURN_MS);
    const refresher = new Refresher(context);
    await refresher.look();
    const shut = await user();
    t.truthy(shut.disabled_at);
    t.is(shut.disabled_by, 'provider');
    t.is(shut.disabled_provider, 'oidc/okta');
    t.deepEqual((await tokens()).tokens, {});
    t.is((await tokens()).error, 'invalid_grant');
    const entries = await readAuditEntries(database, { limit: 1 });
    t.like(entries[0], { kind: 'user', action: 'update', actor: 'gateway' });
    // An administrator enables the user: the user stays enabled.
    await write(database, (transaction) =>
      shut.update(
        { disabled_at: null, disabled_by: null, disabled_provider: null },
        { transaction },
      ),
    );
    pass(TURN_MS);
    await refresher.look();
    t.is(idp.asked.length, 1);
    t.is((await user()).disabled_at, null);
  });

  test(`${kind}: without the setting a refusal is only stored, and counts when the setting is switched on`, async (t) => {
    const { context, idp, pass, settings, tokens, user } = await open(t, kind);
    settings.disable_vpn_on_oidc_error = false;
    refuse(idp);
    pass(TURN_MS);
    const refresher = new Refresher(context);
    await refresher.look();
    t.is((await user()).disabled_at, null);
    t.is((await tokens()).error, 'invalid_grant');
    settings.disable_vpn_on_oidc_error = true;
    pass(TURN_MS);
    await refresher.look();
    t.is((await user()).disabled_by, 'provider');
  });

  test(`${kind}: whom an administrator disabled stays disabled by the administrator`, async (t) => {
    const { context, idp, pass, user, database } = await open(t, kind);
    const disabled_at = new Date('2026-01-01T00:00:00Z');
    const shut = await user();
    await write(database, (transaction) =>
      shut.update({ disabled_at, disabled_by: 'administrator' }, { transaction }),
    );
    refuse(idp);
    pass(TURN_MS);
    await new Refresher(context).look();
    t.like(await user(), { disabled_at, disabled_by: 'administrator', disabled_provider: null });
  });

  test(`${kind}: several gateways ask once`, async (t) => {
    const place = await makePlace(t, kind);
    const databases = [await openAt(t, place), await openAt(t, place), await openAt(t, place)];
    await migrate(databases[0]!);
    const { context, idp, pass, tokens } = await open(t, kind, databases[0]);
    pass(TURN_MS);
    const looks = databases.map((database) => new Refresher({ ...context, database }).look());
    await Promise.all(looks);
    t.is(idp.asked.length, 1);
    t.is((await tokens()).tokens.refreshToken, 'refresh-1');
  });

  test(`${kind}: a sign-in during a refresh wins over its refusal`, async (t) => {
    const { context, idp, pass, tokens, user, database } = await open(t, kind);
    const signIn = () =>
      provisionUser(
        database,
        {
          kind: 'oidc',
          provider_id: 'okta',
          issuer: idp.origin,
          subject: 'subject-1',
          email: null,
          isEmailVerified: null,
          isBindable: true,
        },
        { autoCreateUsers: false, authority: '' },
        {
          origin: GATEWAY,
          now: new Date(),
          tokens: { kept: { refreshToken: 'from sign-in' }, refreshAt: nextRefresh(new Date()) },
        },
      );
    idp.bent.answer = (response) =>
      void signIn().then(() => response.writeHead(400, JSON_TYPE).end('{"error":"invalid_grant"}'));
    pass(TURN_MS);
    await new Refresher(context).look();
    t.is((await tokens()).tokens.refreshToken, 'from sign-in');
    t.is((await user()).disabled_at, null);
  });

  test(`${kind}: a database that fails for a moment loses no token`, async (t) => {
    const { context, idp, pass, tokens, database, log } = await open(t, kind);
    const rename = (from: string, to: string) =>
      database.sequelize.query(`ALTER TABLE ${from} RENAME TO ${to}`);
    const isUnsaved = () =>
      log.some(({ message }) => message === 'refreshed tokens are not saved yet');
    idp.bent.tokens = async (good) => {
      await rename('identity_tokens', 'away');
      return good;
    };
    pass(TURN_MS);
    const looked = new Refresher(context).look();
    await untilHolds(isUnsaved);
    await rename('away', 'identity_tokens');
    await looked;
    t.is((await tokens()).tokens.refreshToken, 'refresh-1');
  });
}

const errors: [says: string, bend: (world: World) => void, error: string][] = [
  ['a hang-up', ({ idp }) => (idp.bent.answer = (r) => void r.destroy()), 'provider_unreachable'],
  ['silence', ({ idp }) => (idp.bent.answer = () => undefined), 'provider_unreachable'],
  ['status 503', ({ idp }) => refuse(idp, 503), 'provider_failing'],
  ['status 500 with a refusal', ({ idp }) => refuse(idp, 500), 'provider_failing'],
  ['a wrong client', ({ idp }) => refuse(idp, 401, 'invalid_client'), 'provider_misconfigured'],
  [
    'a page for an answer',
    ({ idp }) => (idp.bent.answer = (r) => void r.end('<html>')),
    'answer_invalid',
  ],
  [
    'too many requests',
    ({ idp }) => (idp.bent.answer = (r) => void r.writeHead(429).end()),
    'answer_invalid',
  ],
  ['a bad document', ({ idp }) => (idp.bent.document = { issuer: 5 }), 'provider_unreachable'],
  [
    'another issuer than the one that is bound',
    ({ idp }) => (idp.bent.document = { issuer: 'http://other.example' }),
    'other_issuer',
  ],
  [
    'an entry that is gone',
    ({ settings }) => (settings.openid_connect_providers = []),
    'provider_gone',
  ],
];
for (const [says, bend, error] of errors)
  // docs/bugs-of-others.md#bug-21: answers that disable nobody.
  test(`nobody is disabled for ${says}`, async (t) => {
    const world = await open(t, 'sqlite');
    bend(world);
    world.pass(TURN_MS);
    await new Refresher(world.context).look();
    t.is((await world.user()).disabled_at, null);
    const row = await world.tokens();
    t.is(row.error, error);
    t.is(row.tokens.refreshToken, 'refresh-0');
    t.is(row.claimed_by, null);
    if (ABANDONED.includes(error)) t.is(row.refresh_at, null, 'asking again is of no use');
    else t.true((row.refresh_at ?? new Date(0)) > world.context.now!(), 'it has another turn');
    t.is(world.context.counters.of('refreshes', error), 1);
    const lines = world.log.filter(({ message }) => message.endsWith('was not refreshed'));
    t.is(lines.length, 1);
    t.like(lines[0], { level: 'warn' });
    t.like(lines[0]?.fields, { provider: 'okta', reason: error });
  });

for (const kind of firstKind())
  test(`${kind}: an account of a former issuer is not checked until the entry leads back to it`, async (t) => {
    const { context, settings, pass, tokens } = await open(t, kind);
    const { counters } = context;
    const [entry] = settings.openid_connect_providers;
    settings.openid_connect_providers = [];
    const refresher = new Refresher(context);
    for (let turn = 0; turn < 3; turn += 1) {
      pass(TURN_MS);
      await refresher.look();
    }
    t.is(counters.of('refreshes', 'provider_gone'), 1);
    settings.openid_connect_providers = [entry!];
    await refresher.look();
    t.is(counters.of('refreshes', 'good'), 1);
    t.is((await tokens()).error, null);
    t.not((await tokens()).refresh_at, null);
  });

const GROUP = { name: 'groups', value: 'vpn' };
const claims: [says: string, bend: (idp: BadProvider) => void, error: string | null][] = [
  ['stays in the ID token', (idp) => (idp.bent.claims = { groups: ['vpn'] }), null],
  ['is another in the ID token', (idp) => (idp.bent.claims = { groups: ['x'] }), 'claim_required'],
  ['is another in userinfo', (idp) => (idp.bent.userinfo = { groups: [] }), 'claim_required'],
  ['stays in userinfo', (idp) => (idp.bent.userinfo = { groups: 'vpn' }), null],
  ['is missing', () => undefined, null],
  [
    'is another in userinfo alone, without an ID token',
    (idp) => {
      idp.bent.tokens = ({ id_token: _none, ...rest }) => rest;
      idp.bent.userinfo = { groups: ['x'] };
    },
    'claim_required',
  ],
  [
    'is in userinfo of somebody else',
    (idp) => (idp.bent.userinfo = { sub: 'other', groups: ['x'] }),
    'answer_invalid',
  ],
];
for (const [says, bend, error] of claims)
  test(`a claim that an entry requires ${says}`, async (t) => {
    const { context, idp, pass, settings, tokens, user, log } = await open(t, 'sqlite');
    const [entry] = settings.openid_connect_providers;
    settings.openid_connect_providers = [{ ...entry!, required_claim: GROUP }];
    bend(idp);
    idp.bent.claims = { nonce: undefined, ...idp.bent.claims };
    idp.bent.userinfo = { sub: 'subject-1', ...idp.bent.userinfo };
    pass(TURN_MS);
    await new Refresher(context).look();
    t.is((await tokens()).error, error);
    t.is((await user()).disabled_by, error === 'claim_required' ? 'provider' : null);
    if (error === 'claim_required')
      t.true(log.some(({ fields }) => (fields as { detail?: string }).detail === 'another groups'));
  });

const ANYBODY = { nonce: undefined };
const groupsSaid: [says: string, bend: (idp: BadProvider) => void, left: string[]][] = [
  ['are replaced', (idp) => (idp.bent.claims = { ...ANYBODY, groups: ['ops'] }), ['ops']],
  ['are none where the answer has no claim', (idp) => (idp.bent.claims = ANYBODY), []],
  ['are read in userinfo', (idp) => (idp.bent.userinfo = { groups: ['ops'] }), ['ops']],
  ['stay where the provider is away', (idp) => refuse(idp, 503, 'x'), ['vpn']],
  ['stay where it refuses the account', (idp) => refuse(idp), ['vpn']],
  [
    'stay where Entra has too many',
    (idp) => (idp.bent.claims = { ...ANYBODY, _claim_names: { groups: 'src1' } }),
    ['vpn'],
  ],
  [
    'stay where the list holds objects',
    (idp) => (idp.bent.claims = { ...ANYBODY, groups: [{ id: 1, name: 'ops' }] }),
    ['vpn'],
  ],
  [
    'stay where userinfo is of somebody else',
    (idp) => (idp.bent.userinfo = { sub: 'other', groups: ['ops'] }),
    ['vpn'],
  ],
  [
    'stay where nothing can be read',
    (idp) => {
      idp.bent.tokens = ({ id_token: _none, ...rest }) => rest;
      idp.bent.document = { userinfo_endpoint: undefined };
    },
    ['vpn'],
  ],
];
for (const [says, bend, left] of groupsSaid)
  test(`groups of an account ${says}`, async (t) => {
    const { context, database, idp, pass, settings, user } = await open(t, 'sqlite');
    const [entry] = settings.openid_connect_providers;
    const naming = { groups_claim: 'groups', groups_create: true };
    settings.openid_connect_providers = [{ ...entry!, ...naming }];
    const refreshed = async (): Promise<string[]> => {
      pass(TURN_MS);
      await new Refresher({ ...context, clients: new OidcClients(limits) }).look();
      const { Group, GroupMembership } = database.models;
      const rows = await GroupMembership.findAll({ where: { user_id: (await user()).id } });
      const ids = rows.map(({ group_id }) => group_id);
      return (await Group.findAll({ where: { id: ids } })).map(({ name }) => name);
    };
    idp.bent.userinfo = { sub: 'subject-1' };
    idp.bent.claims = { ...ANYBODY, groups: ['vpn'] };
    t.deepEqual(await refreshed(), ['vpn']);
    idp.bent.claims = ANYBODY;
    bend(idp);
    idp.bent.userinfo = { sub: 'subject-1', ...idp.bent.userinfo };
    t.deepEqual(await refreshed(), left);
  });

test('a missing claim is only stored if refusals disable nobody', async (t) => {
  const { context, idp, pass, settings, tokens, user } = await open(t, 'sqlite');
  const [entry] = settings.openid_connect_providers;
  settings.openid_connect_providers = [{ ...entry!, required_claim: GROUP }];
  settings.disable_vpn_on_oidc_error = false;
  idp.bent.claims = { nonce: undefined, groups: [] };
  pass(TURN_MS);
  await new Refresher(context).look();
  t.is((await user()).disabled_at, null);
  t.is((await tokens()).error, 'claim_required');
  t.is((await tokens()).tokens.refreshToken, 'refresh-1', 'and asked for again');
});

test('a rotated token is kept even if the ID token beside it is bad', async (t) => {
  const { context, idp, pass, tokens, user } = await open(t, 'sqlite');
  idp.bent.claims = { aud: 'somebody else' };
  pass(TURN_MS);
  await new Refresher(context).look();
  t.is((await tokens()).tokens.refreshToken, 'refresh-1');
  t.is((await tokens()).error, 'answer_invalid');
  idp.bent.claims = { nonce: undefined, sub: 'somebody else' };
  pass(TURN_MS);
  await new Refresher(context).look();
  t.is((await tokens()).tokens.refreshToken, 'refresh-2');
  t.is((await tokens()).error, 'other_subject');
  t.is((await user()).disabled_at, null);
});

test('a token that cannot be decrypted does not stop the checks of other accounts', async (t) => {
  const { context, idp, pass, database, log, tokens } = await open(t, 'sqlite');
  const other = await addIdentity(database, await addUser(database));
  const now = context.now!();
  await write(database, (transaction) =>
    keepTokens(
      database,
      other.id,
      { tokens: { refreshToken: 'broken' }, refreshAt: new Date(0), now },
      transaction,
    ),
  );
  await database.sequelize.query(
    `UPDATE identity_tokens SET tokens = '1:x:y' WHERE identity_id = '${other.id}'`,
  );
  pass(TURN_MS);
  await new Refresher(context).look();
  t.is(idp.asked.length, 1);
  const { IdentityTokens: table } = database.models;
  const broken = await table.findByPk(other.id, { rejectOnEmpty: true });
  t.is(broken.error, 'internal');
  t.true((broken.refresh_at ?? now) > context.now!(), 'it has another turn');
  t.is(context.counters.of('refreshes', 'good'), 1);
  t.true(log.some(({ message }) => message === 'an account was not asked for'));
  t.truthy(tokens);
});

test('a configuration that cannot be read is logged, and nothing is thrown', async (t) => {
  const { context, log } = await open(t, 'sqlite');
  const settings = () => Promise.reject(new Error('away'));
  await t.notThrowsAsync(new Refresher({ ...context, settings }).look());
  t.is(log.at(-1)?.level, 'warn');
});

test('the refresher looks for due accounts by itself until it is stopped', async (t) => {
  const { context, idp, pass } = await open(t, 'sqlite');
  pass(TURN_MS);
  const refreshing = startRefreshing(context, 20);
  while (idp.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await refreshing.stop();
  const before = idp.asked.length;
  pass(TURN_MS);
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.is(idp.asked.length, before);
});

test('no secret is logged', async (t) => {
  const { context, idp, pass, log } = await open(t, 'sqlite');
  refuse(idp);
  pass(TURN_MS);
  await new Refresher(context).look();
  t.true(log.length > 0);
  t.notRegex(JSON.stringify(log), /refresh-\d|person@|the-client-secret/);
});
