// Taking wg-easy over: devices with keys, addresses, switches, ends and networks.

import { randomBytes } from 'node:crypto';
import test from 'ava';
import { derivePublicKey } from '../../../../dataplane/index.ts';
import { parseWgEasyJson } from '../../../../lib/installation/imports/wg-easy-file.ts';
import { importWgEasy } from '../../../../lib/installation/imports/wg-easy.ts';
import { newId, readDevices, readUsers } from '../../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';
import { configOf, newKey } from '../../../support/api/server.ts';

const SETTINGS = { WIREGUARD_IPV4_NETWORK: '10.8.0.0/24', WIREGUARD_IPV4_ADDRESS: '10.8.0.1' };
const privateKey = randomBytes(32).toString('base64');
const publicKey = Buffer.from(
  derivePublicKey(new Uint8Array(Buffer.from(privateKey, 'base64'))),
).toString('base64');

function jsonOf(clients: object[]): string {
  return JSON.stringify({
    server: { privateKey, address: '10.8.0.1' },
    clients: Object.fromEntries(clients.map((client, i) => [`c${i}`, client])),
  });
}

for (const kind of databaseKinds())
  test(`${kind}: clients become devices of one new user`, async (t) => {
    const database = await openDatabase(t, kind);
    const keys = [newKey(), newKey(), newKey()];
    const kept = parseWgEasyJson(
      jsonOf([
        {
          name: 'phone',
          address: '10.8.0.2',
          publicKey: keys[0],
          preSharedKey: keys[2],
          enabled: true,
        },
        {
          name: 'phone',
          address: '10.8.0.3',
          publicKey: keys[1],
          enabled: false,
          expiredAt: '2020-01-01T00:00:00.000Z',
          allowedIPs: '10.0.0.0/8',
          serverAllowedIps: ['192.168.7.9/24', '10.8.0.3/32', '0.0.0.0/0'],
        },
      ]),
    );
    const how = { owner: { id: newId(), newEmail: 'ann@b.example' }, isTrial: false };
    const services = { config: configOf(SETTINGS), database, serverPublicKey: publicKey };
    const { counts, notes, devices } = await importWgEasy(services, kept, how);
    t.deepEqual(counts, { 'users made': 1, devices: 2 });
    t.deepEqual(
      devices?.map(({ name }) => name),
      ['phone', 'phone (2)'],
    );
    t.deepEqual(notes, [
      'wg0.json holds no port and no MTU: if WG_PORT of wg-easy was not 51820, set WIREGUARD_PORT to it',
      'the private keys of the clients are not kept: who loses a file gets a new key pair',
      'client c1 (phone): 0.0.0.0/0 is not taken over; not everything can be behind a device',
    ]);
    const [user] = await readUsers(database);
    const rows = await readDevices(database);
    t.true(rows.every(({ user_id }) => user_id === user?.id));
    t.like(rows[0], {
      ipv4: '10.8.0.2',
      public_key: keys[0],
      preshared_key: keys[2],
      disabled_at: null,
      expires_at: null,
      use_default_allowed_ips: true,
    });
    t.like(rows[1], {
      ipv4: '10.8.0.3',
      public_key: keys[1],
      expires_at: new Date('2020-01-01T00:00:00Z'),
      use_default_allowed_ips: false,
      allowed_ips: ['10.0.0.0/8'],
      routes: ['192.168.7.0/24'],
    });
    t.truthy(rows[1]?.disabled_at);
  });

for (const kind of databaseKinds())
  test(`${kind}: without the settings it says what to set, and nothing is written`, async (t) => {
    const database = await openDatabase(t, kind);
    const kept = parseWgEasyJson(
      jsonOf([
        { name: 'a', address: '10.8.0.2', publicKey: newKey() },
        { name: 'b', address: '10.8.0.3', publicKey: 'short', expiredAt: 'never' },
      ]),
    );
    const services = { config: configOf(), database, serverPublicKey: newKey() };
    const how = { owner: { id: newId(), newEmail: 'ann@b.example' }, isTrial: false };
    const { message } = await t.throwsAsync(importWgEasy(services, kept, how));
    for (const line of [
      'client c0 (a) has the address 10.8.0.2, which is not inside 100.64.0.0/10; set the networks as said below, then import again',
      'client c1 (b) ends at "never", which is no time',
      'client c1 (b).public_key should be 44 character(s)',
      `set WIREGUARD_PRIVATE_KEY to the privateKey of server (or WIREGUARD_PRIVATE_KEY_FILE): the clients know the server as ${publicKey}`,
      'set WIREGUARD_IPV4_NETWORK=10.8.0.0/24',
      'set WIREGUARD_IPV4_ADDRESS=10.8.0.1',
    ])
      t.true(message.includes(`  ${line}\n`), `${line}\nin\n${message}`);
    t.false(message.includes(privateKey));
    t.is(await database.models.User.count(), 0);
  });

test('what is equal of many clients is said once', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const config = configOf({ ...SETTINGS, WIREGUARD_IPV6_ENABLED: 'false' });
  const services = { config, database, serverPublicKey: publicKey };
  const kept = parseWgEasyJson(
    jsonOf(
      Array.from({ length: 12 }, (_, i) => ({
        name: `phone ${i}`,
        address: `10.8.0.${i + 2}`,
        publicKey: newKey(),
        serverAllowedIps: ['0.0.0.0/0'],
      })),
    ),
  );
  const clients = kept.clients.map((client, i) => ({
    ...client,
    addresses: [...client.addresses, `fdcc::${i + 2}`],
    left: i < 2 ? ['post_up is not taken over; it is in the file of the client'] : [],
  }));
  const owner = { id: newId(), newEmail: 'ann@b.example' };
  const how = { owner, isTrial: true };
  const { notes } = await importWgEasy(services, { ...kept, clients, notes: [] }, how);
  t.deepEqual(notes.slice(-3), [
    'client c0 (phone 0) and 11 other clients: the IPv6 address is not taken over; WIREGUARD_IPV6_ENABLED is false',
    'client c0 (phone 0) and 11 other clients: 0.0.0.0/0 is not taken over; not everything can be behind a device',
    'client c0 (phone 0) and 1 other client: post_up is not taken over; it is in the file of the client',
  ]);
});
