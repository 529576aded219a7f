// The audit trail of a run of requests and commands: who is named, what is not recorded, how it is
// listed, when it is forgotten.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { createToken, ensureBootstrapToken } from '../../../../lib/auth/tokens.ts';
import { startHourly } from '../../../../lib/kit/process/hourly.ts';
import { forgetEntries } from '../../../../lib/kit/records/audit.ts';
import {
  type AuditRow,
  COMMAND_LINE,
  migrate,
  readAuditEntries,
  readOrCreateConfiguration,
} from '../../../../models/index.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../../support/database/databases.ts';
import {
  ADMIN_EMAIL,
  logInto,
  type LogLine,
  newKey,
  openServer,
} from '../../../support/api/server.ts';
import { runTyped } from '../../../support/gateway/typed-command.ts';

const shortly = ({ action, kind }: AuditRow): string => `${kind} ${action}`;

const runLine = runTyped;

for (const kind of databaseKinds()) {
  test(`${kind}: a request's write names user, e-mail, token, request and address`, async (t) => {
    const { send, database, adminId } = await openServer(t, kind);
    const { body, headers } = await send('POST', '/v0/rules', {
      body: { rule: { destination: '10.0.0.1' } },
    });
    const [entry] = await readAuditEntries(database, { limit: 1 });
    const tokens = await database.models.ApiToken.findAll();
    t.like(entry, {
      actor: 'user',
      user_id: adminId,
      email: ADMIN_EMAIL,
      token_id: tokens[0]?.id,
      request_id: headers['x-request-id'],
      address: '127.0.0.1',
      action: 'create',
      kind: 'rule',
      record_id: body.data.id,
    });
    t.deepEqual(entry?.changes, {
      action: { to: 'drop' },
      destination: { to: '10.0.0.1' },
      enabled: { to: true },
      enforced: { to: true },
    });
  });

  test(`${kind}: writes that share a transaction have entries of their own`, async (t) => {
    const first = await openServer(t, kind);
    const { database } = first;
    const { token } = await createToken(database, { email: ADMIN_EMAIL, name: 'other' });
    const post = (i: number) =>
      first.send('POST', '/v0/rules', {
        token: i % 2 === 0 ? first.token : token,
        body: { rule: { destination: i % 3 === 2 ? 'bad' : `10.0.0.${i}` } },
      });
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => post(i)));
    const wanted = answers
      .map(({ status, headers, body }, i) => ({ status, headers, body, i }))
      .filter(({ status }) => status === 201)
      .map(({ headers, body, i }) => `${String(headers['x-request-id'])} ${body.data.id} ${i % 2}`);
    const tokens = await database.models.ApiToken.findAll({ order: [['inserted_at', 'ASC']] });
    const entries = (await readAuditEntries(database, { limit: 100 }))
      .filter((entry) => entry.kind === 'rule')
      .map((entry) => {
        const number = tokens.findIndex(({ id }) => id === entry.token_id);
        return `${entry.request_id} ${entry.record_id} ${number}`;
      });
    t.is(entries.length, 8, 'the four that were refused left nothing');
    t.deepEqual(entries.toSorted(), wanted.toSorted());
  });

  test(`${kind}: every operation leaves its entries, a refused or empty one none`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const seen = new Set((await readAuditEntries(database, { limit: 100 })).map(({ id }) => id));
    const user = await send('POST', '/v0/users', {
      body: {
        user: {
          email: 'a@b.example',
          password: 'x'.repeat(12),
          password_confirmation: 'x'.repeat(12),
        },
      },
    });
    const { id: userId } = user.body.data;
    const device = await send('POST', '/v0/devices', {
      body: { device: { user_id: userId, public_key: newKey() } },
    });
    const path = `/v0/devices/${device.body.data.id}`;
    await send('PATCH', path, { body: { device: { name: 'renamed' } } });
    await send('PATCH', path, { body: { device: { name: 'renamed' } } });
    await send('PATCH', path, { body: { device: { name: 'x'.repeat(256) } } });
    await send('PATCH', path, { body: { device: {} } });
    await send('PATCH', '/v0/configuration', {
      body: { configuration: { vpn_session_duration: 60, default_action: 'drop' } },
    });
    await send('GET', '/v0/devices');
    await send('POST', '/v0/rules', { token: null, body: { rule: { destination: '::1' } } });
    await send('DELETE', `/v0/users/${userId}`);
    await send('DELETE', `/v0/users/${userId}`);
    const entries = await readAuditEntries(database, { limit: 100 });
    const fresh = entries.filter(({ id }) => !seen.has(id));
    t.deepEqual(fresh.map(shortly), [
      'user create',
      'device create',
      'device update',
      'configuration update',
      'device delete',
      'user delete',
    ]);
    t.deepEqual(fresh[2]?.changes, {
      name: { from: device.body.data.name, to: 'renamed' },
    });
    t.deepEqual(fresh[3]?.changes, {
      vpn_session_duration: { from: 0, to: 60 },
      default_action: { from: 'accept', to: 'drop' },
    });
    t.deepEqual(fresh[0]?.changes['password'], { changed: true });
    t.true(fresh.every(({ email }) => email === ADMIN_EMAIL));
  });

  test(`${kind}: an administrator is named by the e-mail of that moment`, async (t) => {
    const { send, database, adminId } = await openServer(t, kind);
    await send('PATCH', `/v0/users/${adminId}`, { body: { user: { email: 'new@b.example' } } });
    await send('POST', '/v0/rules', { body: { rule: { destination: '10.0.0.1' } } });
    const [first, second] = await readAuditEntries(database, { limit: 2 });
    t.deepEqual([first?.email, second?.email], [ADMIN_EMAIL, 'new@b.example']);
  });

  test(`${kind}: commands are the command line's, and listed by audit list`, async (t) => {
    const database = await openAt(t, await makePlace(t, kind), { origin: COMMAND_LINE });
    await migrate(database);
    await readOrCreateConfiguration(database);
    await runLine(database, 'admin create-or-reset --email deputy@b.example');
    await runLine(database, 'admin create-or-reset --email a@b.example');
    const made = await runLine(database, 'token create --email a@b.example --name ci');
    const { id } = made.data as { id: string };
    await runLine(database, 'user disable --email a@b.example');
    await runLine(database, 'user disable --email a@b.example');
    await runLine(database, `token revoke ${id}`);
    await t.throwsAsync(runLine(database, `token revoke ${id}`));
    const { text, data } = await runLine(database, 'audit list --limit 4');
    const lines = text.split('\n').map((line) => line.split('\t'));
    t.deepEqual(
      lines.map(([, ...rest]) => rest.toSpliced(3, 1)),
      [
        ['command_line', '-', 'user create', 'email role password'],
        ['command_line', '-', 'api_token create', 'user_id name scopes expires_at'],
        ['command_line', '-', 'user update', 'disabled_at disabled_by'],
        ['command_line', '-', 'api_token delete', 'user_id name scopes expires_at'],
      ],
    );
    t.false(JSON.stringify(data).includes(made.text));
    t.like((data as object[])[1], {
      kind: 'api_token',
      record_id: id,
      actor: 'command_line',
    });
    const later = new Date(Date.now() + 60_000).toISOString();
    t.is((await runLine(database, `audit list --since ${later}`)).text, '');
    const all = await runLine(database, 'audit list --since 2020-01-01');
    t.true((all.data as object[]).length > 4);
  });

  test(`${kind}: what a start makes of its settings is the gateway's`, async (t) => {
    const { database } = await openServer(t, kind);
    await ensureBootstrapToken(database, 'one', `pst_${'b'.repeat(43)}`);
    await ensureBootstrapToken(database, 'one', `pst_${'b'.repeat(43)}`);
    await ensureBootstrapToken(database, 'one', null);
    const entries = (await readAuditEntries(database, { limit: 2 })).map(
      (entry) => `${entry.actor}: ${shortly(entry)}`,
    );
    t.deepEqual(entries, ['gateway: token create', 'gateway: token delete']);
  });

  test(`${kind}: old entries are forgotten in the background`, async (t) => {
    const database = await openDatabase(t, kind);
    const { AuditEntry } = database.models;
    const [sample] = await readAuditEntries(database, { limit: 1 });
    t.not(sample, undefined);
    const old = { ...sample!, id: '00000000-0000-7000-8000-000000000000' };
    await AuditEntry.create(old);
    const lines: LogLine[] = [];
    const time = async () => new Date();
    await forgetEntries(database, 365, logInto(lines), time).run(() => false);
    t.is(await AuditEntry.findByPk(old.id), null);
    t.not(await AuditEntry.findByPk(sample!.id), null);
    t.deepEqual(lines, [
      {
        level: 'info',
        fields: { count: 1, days: 365 },
        message: 'old audit entries were forgotten',
      },
    ]);
  });
}

test('a database that is away is no reason to stop', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  await database.models.AuditEntry.drop();
  const lines: LogLine[] = [];
  const log = logInto(lines);
  const chore = forgetEntries(database, 365, log, async () => new Date());
  const hourly = startHourly([chore], log);
  while (lines.length === 0) await sleep(5);
  t.is(lines[0]?.level, 'warn');
  await hourly.stop();
});
