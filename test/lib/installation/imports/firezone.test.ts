// Taking over a dump of Firezone 0.7: ids, owners, keys, order, and all or nothing.

import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { importFirezone } from '../../../../lib/installation/imports/firezone.ts';
import { ImportError } from '../../../../lib/installation/imports/run.ts';
import { readDevices, readRules, readUsers } from '../../../../models/index.ts';
import { addUser } from '../../../models/fixtures.ts';
import {
  databaseKinds,
  openDatabase,
  type TestDatabaseKind,
} from '../../../support/database/databases.ts';
import { configOf, newKey } from '../../../support/api/server.ts';

/** Answers as Firezone 0.7.36 gives them, for two users with a device each and three rules. */
function dump() {
  const [ann, bob] = [randomUUID(), randomUUID()];
  const serverKey = newKey();
  const times = { updated_at: '2023-06-01T10:00:00.000000Z' };
  const user = (id: string, email: string, day: number, more = {}) => ({
    id,
    email,
    role: 'unprivileged',
    disabled_at: null,
    last_signed_in_at: null,
    last_signed_in_method: null,
    inserted_at: `2023-01-0${day}T10:00:00.000000Z`,
    ...times,
    ...more,
  });
  const device = (owner: string, name: string, host: number, more = {}) => ({
    id: randomUUID(),
    user_id: owner,
    name,
    description: 'from before',
    public_key: newKey(),
    preshared_key: newKey(),
    server_public_key: serverKey,
    ipv4: `100.64.0.${host}`,
    ipv6: `fd00::${host}`,
    use_default_allowed_ips: true,
    use_default_dns: true,
    use_default_endpoint: true,
    use_default_mtu: false,
    use_default_persistent_keepalive: true,
    allowed_ips: ['0.0.0.0/0', '::/0'],
    dns: ['1.1.1.1'],
    endpoint: 'old.example:51820',
    mtu: 1300,
    persistent_keepalive: 25,
    latest_handshake: '2023-05-01T10:00:00.000000Z',
    remote_ip: '192.0.2.7',
    rx_bytes: 7,
    tx_bytes: 9,
    inserted_at: `2023-02-0${host % 10}T10:00:00.000000Z`,
    ...times,
    ...more,
  });
  const rule = (destination: string, day: number, more = {}) => ({
    id: randomUUID(),
    action: 'accept',
    destination,
    port_type: null,
    port_range: null,
    user_id: null,
    inserted_at: `2023-03-0${day}T10:00:00.000000Z`,
    ...times,
    ...more,
  });
  return {
    ann,
    bob,
    serverKey,
    users: {
      data: [
        user(ann, 'Ann@b.example', 1, {
          role: 'admin',
          last_signed_in_at: '2023-05-02T11:00:00.000000Z',
          last_signed_in_method: 'email',
        }),
        user(bob, 'bob@b.example', 2, { disabled_at: '2023-05-03T11:00:00.000000Z' }),
      ],
    },
    devices: { data: [device(ann, 'laptop', 12), device(bob, 'phone', 13)] },
    rules: {
      data: [
        rule('10.0.0.0/8', 3),
        rule('10.1.0.0/16', 1, { port_type: 'tcp', port_range: '80 - 443', user_id: bob }),
        rule('9.9.9.9', 2, { action: 'drop', port_type: 'udp', port_range: '53' }),
      ],
    },
    configuration: {
      data: {
        id: randomUUID(),
        allow_unprivileged_device_management: false,
        default_client_dns: ['9.9.9.9'],
        default_client_endpoint: null,
        default_client_mtu: 1290,
        logo: null,
        openid_connect_providers: [
          {
            id: 'okta',
            label: 'Okta',
            client_id: 'client',
            client_secret: 'hush',
            discovery_document_uri: 'https://id.example/.well-known/openid-configuration',
            scope: 'openid email profile',
            response_type: 'code',
            redirect_uri: null,
            auto_create_users: true,
          },
          {
            id: 'other',
            label: 'Other',
            client_id: 'client',
            client_secret: '********',
            discovery_document_uri: 'https://other.example/.well-known/openid-configuration',
            auto_create_users: false,
          },
        ],
        saml_identity_providers: [],
        vpn_session_duration: 3600,
      },
    },
  };
}

type Dump = ReturnType<typeof dump>;

async function start(t: ExecutionContext, kind: TestDatabaseKind, settings = {}) {
  const database = await openDatabase(t, kind);
  const config = configOf(settings);
  const run = ({ users, devices, rules, configuration }: Partial<Dump>, isTrial = false) =>
    importFirezone(
      { config, database, serverPublicKey: newKey() },
      JSON.stringify({ users, devices, rules, configuration }),
      isTrial,
    );
  return { database, run };
}

for (const kind of databaseKinds()) {
  test(`${kind}: everything is there, with its ids, in its order`, async (t) => {
    const { database, run } = await start(t, kind);
    const from = dump();
    const { counts, notes } = await run(from);
    t.deepEqual(counts, {
      'users made': 2,
      'users merged': 0,
      devices: 2,
      rules: 3,
      configurations: 1,
    });
    const [ann, bob] = await readUsers(database);
    t.like(ann, {
      id: from.ann,
      email: 'Ann@b.example',
      role: 'admin',
      disabled_at: null,
      last_signed_in_at: new Date('2023-05-02T11:00:00Z'),
      last_signed_in_method: 'email',
    });
    t.like(bob, { id: from.bob, disabled_at: new Date('2023-05-03T11:00:00Z') });
    const devices = await readDevices(database);
    for (const [i, sent] of from.devices.data.entries()) {
      const { id, user_id, name, description, public_key, preshared_key, ipv4, ipv6 } = sent;
      const kept = { id, user_id, name, description, public_key, preshared_key, ipv4, ipv6 };
      t.like(devices[i], { ...kept, use_default_mtu: false, mtu: 1300, use_default_dns: true });
    }
    const rules = await readRules(database);
    const [wide, web, dns] = from.rules.data;
    t.deepEqual(
      rules.map(({ id }) => id),
      [web?.id, dns?.id, wide?.id].map(String),
    );
    t.like(rules[0], { port_type: 'tcp', port_start: 80, port_end: 443, user_id: from.bob });
    t.like(rules[1], { action: 'drop', port_type: 'udp', port_start: 53, port_end: 53 });
    const configuration = await database.models.Configuration.findOne({ rejectOnEmpty: true });
    t.like(configuration.get(), {
      allow_unprivileged_device_management: false,
      default_client_dns: ['9.9.9.9'],
      default_client_mtu: 1290,
      vpn_session_duration: 3600,
    });
    const [okta, other] = configuration.openid_connect_providers;
    t.like(okta, { id: 'okta', client_secret: 'hush', auto_create_users: true });
    t.like(other, { id: 'other', client_secret: 'to-be-set-anew' });
    t.true(notes.some((note) => /hides the client_secret of other; set it anew/.test(note)));
    t.true(notes.some((note) => note.startsWith('2 users have no password')));
    t.true(
      notes.some((note) => note.startsWith(`the clients know the server as ${from.serverKey}`)),
    );
    t.false(JSON.stringify(notes).includes('hush'));
  });

  test(`${kind}: users who are there are merged by their e-mail, taken ids give way`, async (t) => {
    const { database, run } = await start(t, kind);
    const from = dump();
    const ann = await addUser(database, { email: 'ANN@B.example' });
    const stranger = await addUser(database, { id: from.bob, email: 'stranger@b.example' });
    const { counts } = await run(from);
    t.like(counts, { 'users made': 1, 'users merged': 1 });
    const users = await readUsers(database);
    t.is(users.find(({ id }) => id === ann.id)?.role, 'unprivileged');
    const bob = users.find(({ email }) => email === 'bob@b.example');
    t.not(bob?.id, stranger.id);
    const devices = await readDevices(database);
    t.is(devices.find(({ name }) => name === 'laptop')?.user_id, ann.id);
    t.is(devices.find(({ name }) => name === 'phone')?.user_id, bob?.id);
    const rules = await readRules(database);
    t.deepEqual(
      rules.map(({ user_id }) => user_id).filter((id) => id !== null),
      [bob?.id],
    );
  });

  test(`${kind}: every error has its place, and nothing is written`, async (t) => {
    const { database, run } = await start(t, kind);
    const from = dump();
    const [laptop, phone] = from.devices.data;
    const [wide, web, dns] = from.rules.data;
    const bad = {
      users: {
        data: [
          ...from.users.data,
          { ...from.users.data[0], email: 'nobody', role: 'king' },
          { ...from.users.data[1], id: randomUUID(), email: 'out@b.example', disabled_at: true },
        ],
      },
      devices: {
        data: [
          laptop,
          { ...phone, ipv4: '10.0.0.7', user_id: randomUUID() },
          { ...laptop, id: randomUUID(), name: 'other', mtu: 9000 },
        ],
      },
      rules: {
        data: [wide, { ...web, port_range: '443 - 80' }, { ...wide, destination: '10.2.0.0' }, dns],
      },
      configuration: {
        data: { default_client_mtu: 1, openid_connect_providers: [{ id: 'saml' }] },
      },
    };
    const error = await t.throwsAsync(run(bad as unknown as Dump), { instanceOf: ImportError });
    for (const line of [
      'users[2].email is invalid email address',
      'users[2].role is invalid',
      'users[2].id has already been taken',
      'users[3].disabled_at must be a time such as 2024-01-31T12:00:00Z, or null',
      'devices[1].ipv4 is not in the CIDR 100.64.0.0/10',
      'devices[1].user_id does not exist',
      'devices[2].mtu must be less than or equal to 1500',
      'devices[2].public_key has already been taken',
      'devices[2].ipv4 has already been taken',
      'rules[1].port_range lower value cannot be higher than upper value',
      'rules[2].destination destination overlaps with an existing rule',
      'configuration.default_client_mtu must be greater than or equal to 576',
      'configuration.openid_connect_providers[0].id is reserved',
      "configuration.openid_connect_providers[0].label can't be blank",
    ])
      t.true(error.message.includes(`  ${line}\n`), `${line}\nin\n${error.message}`);
    t.is(await database.models.User.count(), 0);
    t.is(await database.models.Device.count(), 0);
    t.is(await database.models.Rule.count(), 0);
  });

  test(`${kind}: who was disabled stays so, however the time is written`, async (t) => {
    for (const time of [
      '2024-01-02T03:04:05+02:00',
      '2024-01-02 01:04:05',
      '2024-01-02T01:04:05.000Z',
    ]) {
      const { database, run } = await start(t, kind);
      const from = dump();
      Object.assign(from.users.data[1]!, { disabled_at: time });
      await run(from);
      const bob = await database.models.User.findByPk(from.bob);
      t.deepEqual(bob?.disabled_at, new Date('2024-01-02T01:04:05Z'), time);
    }
  });

  test(`${kind}: a trial says what would come, a second import what is there`, async (t) => {
    const { database, run } = await start(t, kind);
    const from = dump();
    t.like((await run(from, true)).counts, { 'users made': 2, devices: 2 });
    t.is(await database.models.User.count(), 0);
    await run(from);
    await t.throwsAsync(run(from), { message: /devices\[0\]\.name has already been taken/ });
    t.is(await database.models.Device.count(), 2);
    // Parts of a dump may come alone: their owners are known by their ids.
    const another = {
      ...from.devices.data[0],
      id: randomUUID(),
      public_key: newKey(),
      name: 'new',
    };
    const fresh = { ...another, ipv4: '100.64.0.77', ipv6: 'fd00::77' };
    await run({ devices: { data: [fresh] } } as unknown as Dump);
    t.is(await database.models.Device.count(), 3);
  });
}

test('what the environment fixes stays, and is said', async (t) => {
  const { database, run } = await start(t, 'sqlite', { DEFAULT_CLIENT_MTU: '1400' });
  const { notes } = await run(dump());
  t.true(
    notes.includes(
      'configuration.default_client_mtu is fixed by the environment and was left as it is',
    ),
  );
  const configuration = await database.models.Configuration.findOne({ rejectOnEmpty: true });
  t.is(configuration.default_client_mtu, null);
});
