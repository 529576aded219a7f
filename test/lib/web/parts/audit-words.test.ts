// Entries of the audit trail as sentences, with the names that they were written with, or none.

import test from 'ava';
import { presentNames, whatIn, whatInAll, whoIn } from '../../../../lib/web/parts/audit-words.ts';
import type { AuditRow } from '../../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { addDevice, addRule, addUser } from '../../../models/fixtures.ts';

const nobody = new Map<string, string>();

function entry(values: Partial<AuditRow>): AuditRow {
  return {
    id: 'e',
    happened_at: new Date(0),
    actor: 'user',
    user_id: 'u1',
    email: 'admin@example.com',
    token_id: null,
    action: 'update',
    kind: 'user',
    record_id: 'u2',
    changes: {},
    request_id: null,
    address: null,
    record_name: 'ann@example.com',
    owner_name: null,
    token_name: null,
    ...values,
  };
}

/** What entries of this version say. */
const SAID: readonly (readonly [string, Partial<AuditRow>])[] = [
  ['added ann@example.com', { action: 'create' }],
  ['changed ann@example.com: role, email', { changes: { role: { to: 'a' }, email: { to: 'b' } } }],
  ['switched off ann@example.com', { changes: { disabled_at: { from: null, to: 'x' } } }],
  ['switched on ann@example.com', { changes: { disabled_at: { from: 'x', to: null } } }],
  ['signed in', { action: 'sign in', record_id: 'u1' }],
  ['signed ann@example.com out', { action: 'sign out' }],
  ['could not sign in', { action: 'sign-in refused', record_id: 'u1' }],
  ['refused ann@example.com a sign-in', { action: 'sign-in refused' }],
  ['began a wait after failed sign-ins of ann@example.com', { action: 'lock' }],
  ['made a one-time link for ann@example.com', { action: 'make link' }],
  [
    'added ann@example.com to Engineering',
    { action: 'create', kind: 'group_membership', owner_name: 'Engineering' },
  ],
  [
    'removed ann@example.com from Engineering',
    { action: 'delete', kind: 'group_membership', owner_name: 'Engineering' },
  ],
  [
    'switched off device “laptop” of ann@example.com',
    {
      kind: 'device',
      record_name: 'laptop',
      owner_name: 'ann@example.com',
      changes: { disabled_at: { from: null, to: 'x' } },
    },
  ],
  [
    'added rule “Accept TCP 443 to 10.0.0.0/8” for everyone',
    { action: 'create', kind: 'rule', record_name: 'Accept TCP 443 to 10.0.0.0/8' },
  ],
  [
    'deleted rule “Drop all traffic to 10.0.0.0/8” for Engineering',
    {
      action: 'delete',
      kind: 'rule',
      record_name: 'Drop all traffic to 10.0.0.0/8',
      owner_name: 'Engineering',
    },
  ],
  [
    'changed the settings: default client dns',
    {
      kind: 'configuration',
      record_name: null,
      changes: { default_client_dns: { added: [], removed: [] } },
    },
  ],
  [
    'linked ann@example.com to oidc/okta',
    { action: 'create', kind: 'identity', record_name: 'oidc/okta', owner_name: 'ann@example.com' },
  ],
  ['made fail: policy test “web”', { action: 'fail', kind: 'policy_test', record_name: 'web' }],
  [
    'used a recovery code of ann@example.com',
    {
      action: 'delete',
      kind: 'recovery code',
      record_name: null,
      owner_name: 'ann@example.com',
    },
  ],
];

test('an entry is a sentence with the names of its time', (t) => {
  for (const [said, values] of SAID) t.is(whatIn(entry(values), nobody), said);
  t.is(whoIn(entry({})), 'admin@example.com');
  t.is(whoIn(entry({ actor: 'command line', email: null })), 'Command line');
});

test('an entry without names says what it changed, or that the record is gone', (t) => {
  const old = { record_name: null };
  t.is(whatIn(entry(old), nobody), 'changed a user since deleted (u2)');
  t.is(whatIn(entry({ ...old, kind: 'device' }), nobody), 'changed a device since deleted (u2)');
  const changes = { user_id: { to: 'u2' }, group_id: { to: 'g1' } };
  const joined = entry({ ...old, action: 'create', kind: 'group_membership', changes });
  t.is(whatIn(joined, nobody), 'added a user since deleted (u2) to a group since deleted (g1)');
  t.is(
    whatIn(
      joined,
      new Map([
        ['u2', 'ann@b'],
        ['g1', 'Staff'],
      ]),
    ),
    'added ann@b to Staff',
  );
  const named = entry({ ...old, action: 'delete', changes: { email: { from: 'old@b' } } });
  t.is(whatIn(named, nobody), 'deleted old@b');
});

test('several entries are one sentence', (t) => {
  const device = entry({ action: 'delete', kind: 'device', record_name: 'tv' });
  t.is(whatInAll([device, device], nobody), 'deleted 2 devices');
  const off = { ...device, action: 'update', changes: { disabled_at: { from: null, to: 'x' } } };
  const named = { ...off, changes: { name: { from: 'tv', to: 'tele' } } };
  t.is(whatInAll([off, off], nobody), 'switched off 2 devices');
  t.is(whatInAll([off, named], nobody), 'changed 2 devices');
  const joined = { action: 'create', kind: 'group_membership' };
  const [a, b] = ['Staff', 'Guests'].map((owner_name) => entry({ ...joined, owner_name }));
  if (a === undefined || b === undefined) throw new Error('there are two');
  t.is(whatInAll([a, a], nobody), 'added 2 members to Staff');
  t.is(whatInAll([a, b], nobody), 'added 2 members to 2 groups');
});

for (const kind of databaseKinds())
  test(`${kind}: records that are there are found by their ids`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'ann@example.com' });
    const device = await addDevice(database, user, { name: 'laptop' });
    const rule = await addRule(database, { destination: '10.0.0.0/8' });
    const found = await presentNames(database, [
      entry({ user_id: user.id, kind: 'device', record_id: device.id }),
      entry({ user_id: null, kind: 'rule', record_id: rule.id }),
    ]);
    t.deepEqual(Object.fromEntries(found), {
      [rule.id]: '10.0.0.0/8',
      [user.id]: 'ann@example.com',
      [device.id]: 'laptop',
    });
    t.is((await presentNames(database, [])).size, 0);
  });
