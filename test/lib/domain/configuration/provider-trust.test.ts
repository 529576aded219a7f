// What entries say of groups: within bounds, administrators only with the mark of trust, and what
// was said goes with the entry.

import test from 'ava';
import { readAuditEntries } from '../../../../models/index.ts';
import { addUser, write } from '../../../models/fixtures.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { openProvider, samlMetadata } from '../../../support/auth/identity-provider.ts';
import { type Answer, openServer } from '../../../support/api/server.ts';

const path = '/v0/configuration';
const NOT_TRUSTED =
  'needs a provider that is marked as trusted; save the entry, mark it, then name the group';
const TOO_LONG = ['should be at most 255 character(s)'];
const BAD_NAMES =
  'should be an object with names of groups there and, for each, the name of a group here, no UUID; of 1 to 255 characters, and at most 1000';

/** The errors by list, each with those of its entries. */
function errorsIn(answer: Answer): Record<string, Record<string, string[]>[]> {
  return (answer.body as { errors: object }).errors as Record<string, Record<string, string[]>[]>;
}

for (const kind of databaseKinds()) {
  const open = async (t: Parameters<typeof openServer>[0]) => {
    const server = await openServer(t, kind);
    const { origin } = await openProvider(t);
    const openid = {
      id: 'okta',
      label: 'l',
      client_id: 'c',
      client_secret: 's',
      discovery_document_uri: `${origin}/a`,
      auto_create_users: false,
    };
    const saml = { id: 'okta', label: 'l', metadata: samlMetadata(), auto_create_users: true };
    const put = (openids: object[], samls: object[]) =>
      server.send('PUT', path, {
        body: {
          configuration: { openid_connect_providers: openids, saml_identity_providers: samls },
        },
      });
    return { ...server, openid, saml, put, origin };
  };

  test(`${kind}: fields about groups are answered where they were sent, and kept`, async (t) => {
    const { openid, saml, put } = await open(t);
    const more = { groups_map: { 'cn=a,dc=b': 'A', __proto: 'B' }, groups_create: true };
    const first = await put(
      [{ ...openid, ...more, groups_claim: ' realm_access.roles ' }],
      [{ ...saml, groups_attribute: 'member', groups_create: false }],
    );
    t.is(first.status, 200, first.text);
    const shown = { ...more, groups_claim: 'realm_access.roles' };
    t.like(first.body.data.openid_connect_providers[0], shown);
    t.like(first.body.data.saml_identity_providers[0], {
      groups_attribute: 'member',
      groups_create: false,
    });
    const second = await put([openid], [saml]);
    t.like(second.body.data.openid_connect_providers[0], shown, 'an older client');
    const third = await put([{ ...openid, groups_map: '', groups_create: null }], [saml]);
    const [entry] = third.body.data.openid_connect_providers;
    t.is(entry.groups_claim, 'realm_access.roles');
    t.false('groups_map' in entry || 'groups_create' in entry || 'admin_group' in entry);
  });

  test(`${kind}: names of groups are bounded`, async (t) => {
    const { openid, saml, put } = await open(t);
    const errorsOf = async (fields: object) => {
      const answer = await put([{ ...openid, groups_claim: 'groups', ...fields }], []);
      return errorsIn(answer)['openid_connect_providers'];
    };
    const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`g${i}`, 'g']));
    const long = 'a'.repeat(256);
    for (const groups_map of [
      many,
      { a: 1 },
      { a: ' ' },
      { '': 'a' },
      { a: long },
      { a: '01a20ad0-0000-7000-8000-000000000001' },
      { [long]: 'a' },
    ])
      t.deepEqual(await errorsOf({ groups_map }), [{ groups_map: [BAD_NAMES] }]);
    for (const groups_map of ['a', ['a'], 1, true])
      t.deepEqual(await errorsOf({ groups_map }), [{ groups_map: ['is invalid'] }]);
    for (const fields of [{ groups_claim: long }, { required_claim: { name: 'hd', value: long } }])
      t.deepEqual(await errorsOf(fields), [{ [String(Object.keys(fields))]: TOO_LONG }]);
    t.deepEqual(await errorsOf({ admin_group: long }), [
      { admin_group: [...TOO_LONG, NOT_TRUSTED] },
    ]);
    const attribute = errorsIn(await put([], [{ ...saml, groups_attribute: long }]));
    t.deepEqual(attribute['saml_identity_providers'], [{ groups_attribute: TOO_LONG }]);
    const keys = '\u{1F511}'.repeat(255);
    t.is((await put([{ ...openid, id: 'keys', groups_claim: keys }], [])).status, 200);
    const unnamed = {
      groups_claim: ['is missing; groups_map, groups_create and admin_group need it'],
    };
    const alone = { ...openid, groups_create: true };
    t.deepEqual(errorsIn(await put([alone], []))['openid_connect_providers'], [unnamed]);
    t.is((await put([{ ...alone, groups_claim: 'groups' }], [])).status, 200);
    t.is((await put([alone], [])).status, 200, 'what is not sent stays');
    const less = errorsIn(await put([{ ...alone, groups_claim: null }], []));
    t.deepEqual(less['openid_connect_providers'], [unnamed]);
  });

  test(`${kind}: a group of administrators needs the mark of trust`, async (t) => {
    const { openid, saml, put, send, origin } = await open(t);
    const wish = { groups_claim: 'groups', groups_attribute: 'groups', admin_group: 'admins' };
    t.is((await put([openid], [saml])).status, 200);
    const unmarked = errorsIn(await put([{ ...openid, ...wish }], [{ ...saml, ...wish }]));
    for (const list of ['openid_connect_providers', 'saml_identity_providers'])
      t.deepEqual(unmarked[list], [{ admin_group: [NOT_TRUSTED] }]);
    for (const one of ['oidc', 'saml'])
      await send('PUT', `/v0/trusted_providers/${one}/okta`, {
        body: { trusted_provider: { trusted: true } },
      });
    const saved = await put([{ ...openid, ...wish }], [{ ...saml, ...wish }]);
    t.is(saved.status, 200, saved.text);
    const elsewhere = { ...openid, ...wish, discovery_document_uri: `${origin}/b` };
    t.deepEqual(errorsIn(await put([elsewhere], [saml]))['openid_connect_providers'], [
      { admin_group: [NOT_TRUSTED] },
    ]);
    t.is((await put([openid], [saml])).status, 200, 'and other settings are saved');
    for (const id of ['..', 7, null]) {
      const unread = await put([{ ...openid, ...wish, id }], [{ ...saml, ...wish, id }]);
      t.is(unread.status, 422, `an id that cannot be read: ${unread.text}`);
    }
  });

  test(`${kind}: what an entry said goes with it`, async (t) => {
    const { openid, saml, put, send, database } = await open(t);
    const { Group, GroupMembership } = database.models;
    const user = await addUser(database);
    const admin = await addUser(database, { role: 'admin', role_provider: 'oidc/okta' });
    await put([{ ...openid, groups_claim: 'groups' }], [{ ...saml, groups_attribute: 'groups' }]);
    t.is((await admin.reload()).role, 'unprivileged', 'it names no group of administrators');
    const group = await write(database, (transaction) =>
      Group.create({ name: 'g', provider: 'oidc/okta' }, { transaction }),
    );
    const member = { group_id: group.id, user_id: user.id };
    await write(database, (transaction) =>
      GroupMembership.bulkCreate(
        ['oidc/okta', 'saml/okta', 'manual'].map((source) => ({ ...member, source })),
        { transaction },
      ),
    );
    const sources = async () => {
      const { data } = (await send('GET', `/v0/groups/${group.id}/members`)).body;
      return data[0].sources;
    };
    await put([{ ...openid, label: 'other' }], [saml]);
    t.deepEqual(await sources(), ['manual', 'oidc/okta', 'saml/okta']);
    t.is((await send('GET', `/v0/groups/${group.id}`)).body.data.provider, 'oidc/okta');
    await put([openid], [{ ...saml, groups_attribute: null }]);
    t.deepEqual(await sources(), ['manual', 'oidc/okta']);
    await put([], [saml]);
    t.deepEqual(await sources(), ['manual']);
    t.is((await send('GET', `/v0/groups/${group.id}`)).body.data.provider, null);
  });

  test(`${kind}: what an entry said goes when it is turned to another provider`, async (t) => {
    const { openid, saml, put, send, database, origin } = await open(t);
    const entries = [
      { ...openid, groups_claim: 'groups' },
      { ...saml, groups_attribute: 'groups' },
    ] as const;
    await put([entries[0]], [entries[1]]);
    const { Group, GroupMembership } = database.models;
    const user = await addUser(database);
    const group = await write(database, (transaction) =>
      Group.create({ name: 'g', provider: 'oidc/okta' }, { transaction }),
    );
    const say = (...said: string[]) =>
      write(database, (transaction) =>
        GroupMembership.bulkCreate(
          said.map((source) => ({ group_id: group.id, user_id: user.id, source })),
          { transaction },
        ),
      );
    await say('oidc/okta', 'saml/okta');
    const sources = async () => {
      const { data } = (await send('GET', `/v0/groups/${group.id}/members`)).body;
      return data.flatMap((member: { sources: string[] }) => member.sources);
    };
    const drops = { action: 'drop', destination: '10.0.0.0/8', group_id: group.id };
    await send('POST', '/v0/rules', { body: { rule: drops } });
    const packet = { destination: '10.0.0.5', protocol: 'tcp', port: 443 };
    const policy_test = { name: 'held', user_id: user.id, ...packet, expect: 'drop' };
    const made = await send('POST', '/v0/policy_tests', { body: { policy_test } });
    t.is(made.status, 201, made.text);

    const renamed = await put([{ ...entries[0], label: 'x' }], [{ ...entries[1], label: 'x' }]);
    t.is(renamed.status, 200, renamed.text);
    t.deepEqual(await sources(), ['oidc/okta', 'saml/okta'], 'it is the same provider');
    const other = { ...entries[0], discovery_document_uri: `${origin}/b` };
    t.is((await put([other], [entries[1]])).status, 200);
    t.deepEqual(await sources(), ['saml/okta']);
    t.is((await send('GET', `/v0/groups/${group.id}`)).body.data.provider, 'oidc/okta');
    t.deepEqual(await readAuditEntries(database, { limit: 9, action: 'fail' }), []);

    const entityId = 'https://other.example/metadata';
    const turned = await put([other], [{ ...entries[1], metadata: samlMetadata({ entityId }) }]);
    t.is(turned.status, 200, turned.text);
    t.deepEqual(await sources(), []);
    const [failed] = await readAuditEntries(database, { limit: 9, action: 'fail' });
    t.is(failed?.record_id, made.body.data.id, 'the test that fails because of it is noted');
    await say('oidc/okta');
    await put([other], []);
    t.deepEqual(await sources(), ['oidc/okta'], 'what the provider of now says stays');
  });
}
