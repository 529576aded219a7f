// Taking over a server's wg-quick file: devices with their keys and addresses, and what is said.

import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { derivePublicKey } from '../../../../dataplane/index.ts';
import { ImportError } from '../../../../lib/installation/imports/run.ts';
import { importWgQuick, makeOwner } from '../../../../lib/installation/imports/wg-quick.ts';
import { type Database, newId, readDevices, readUsers } from '../../../../models/index.ts';
import { addDevice, addUser, write } from '../../../models/fixtures.ts';
import {
  databaseKinds,
  openDatabase,
  type TestDatabaseKind,
} from '../../../support/database/databases.ts';
import { configOf, newKey } from '../../../support/api/server.ts';

const privateKey = randomBytes(32).toString('base64');
const publicKey = Buffer.from(
  derivePublicKey(new Uint8Array(Buffer.from(privateKey, 'base64'))),
).toString('base64');
const NONE = Buffer.alloc(32).toString('base64');

/** Networks as the file's server had them. */
const SETTINGS = {
  WIREGUARD_IPV4_NETWORK: '10.8.0.0/24',
  WIREGUARD_IPV4_ADDRESS: '10.8.0.1',
  WIREGUARD_IPV6_NETWORK: 'fd42::/64',
  WIREGUARD_IPV6_ADDRESS: 'fd42::1',
};

async function start(t: ExecutionContext, kind: TestDatabaseKind, settings = {}) {
  const database = await openDatabase(t, kind);
  await addUser(database, { email: 'ann@b.example' });
  const config = configOf(settings);
  const [owner] = await readUsers(database);
  if (owner === undefined) throw new Error('no user');
  const run = (text: string, isTrial = false) =>
    importWgQuick({ config, database, serverPublicKey: publicKey }, text, {
      owner: { id: owner.id, newEmail: null },
      isTrial,
    });
  return { database, owner, run };
}

function peer(name: string, allowedIps: string, more = ''): string {
  return `\n# ${name}\n[Peer]\nPublicKey = ${newKey()}\nAllowedIPs = ${allowedIps}\n${more}`;
}

function shown(database: Database) {
  return readDevices(database).then((devices) =>
    devices.map(({ name, ipv4, ipv6, preshared_key }) => ({ name, ipv4, ipv6, preshared_key })),
  );
}

for (const kind of databaseKinds()) {
  test(`${kind}: peers become devices with names, addresses and keys`, async (t) => {
    const { database, owner, run } = await start(t, kind, SETTINGS);
    const key = newKey();
    const file = [
      `[Interface]\nPrivateKey = ${privateKey}\nAddress = 10.8.0.1/24, fd42::1/64\nListenPort = 51820\n`,
      peer('phone', '10.8.0.2/32, fd42::2/128', `PresharedKey = ${key}\n`),
      peer('phone', '10.8.0.3'),
      `\n[Peer]\nPublicKey = ${newKey()}\nAllowedIPs = 10.8.0.4/32\nAllowedIPs = 192.168.77.9/24, fd77::/48, 0.0.0.0/0, 10.8.0.5\nPersistentKeepalive = 25\n`,
    ].join('');
    const { counts, notes } = await run(file);
    t.deepEqual(counts, { devices: 3 });
    const [first, second, third] = await shown(database);
    t.deepEqual(first, { name: 'phone', ipv4: '10.8.0.2', ipv6: 'fd42::2', preshared_key: key });
    t.like(second, { name: 'phone (2)', ipv4: '10.8.0.3', preshared_key: NONE });
    t.like(third, { ipv4: '10.8.0.4', preshared_key: NONE });
    t.true((await readDevices(database)).every(({ user_id }) => user_id === owner.id));
    const routed = (await readDevices(database)).map(({ routes }) => routes);
    t.deepEqual(routed, [null, null, ['192.168.77.0/24', 'fd77::/48']]);
    t.deepEqual(notes, [
      'line 20: AllowedIPs 0.0.0.0/0 is not taken over; not everything can be behind a device',
      'line 20: AllowedIPs 10.8.0.5 is not taken over; a device has one address of each network of the gateway',
      'line 21: PersistentKeepalive is not taken over; it belongs into the file of the client',
    ]);
  });

  test(`${kind}: more devices than a user may make are taken over all the same`, async (t) => {
    const { database, run } = await start(t, kind, { ...SETTINGS, MAX_DEVICES_PER_USER: '2' });
    const peers = Array.from({ length: 230 }, (_, i) => peer(`p${i}`, `10.8.0.${i + 2}/32`));
    await run(`[Interface]\nPrivateKey = ${privateKey}\n${peers.join('')}`);
    t.is((await readDevices(database)).length, 230);
  });

  test(`${kind}: a trial and an error leave nothing, and each error has its place`, async (t) => {
    const { database, owner, run } = await start(t, kind, SETTINGS);
    const user = await database.models.User.findByPk(owner.id, { rejectOnEmpty: true });
    const present = await addDevice(database, user, { name: 'phone', ipv4: '10.8.0.9' });
    const head = `[Interface]\nPrivateKey = ${privateKey}\n`;
    const { counts } = await run(head + peer('new', '10.8.0.2/32'), true);
    t.deepEqual(counts, { devices: 1 });
    const bad = [
      head,
      peer('phone', '10.8.0.2/32'),
      peer('b', '10.8.0.9/32'),
      peer('c', '10.9.0.2/32'),
      `\n# d\n[Peer]\nPublicKey = short\nAllowedIPs = 10.8.0.5/32, 1.2.3.4.5\n`,
      `\n# e\n[Peer]\nPublicKey = ${present.public_key}\nAllowedIPs = 10.8.0.6/32\n`,
      'nonsense\n',
    ].join('');
    const error = await t.throwsAsync(run(bad), { instanceOf: ImportError });
    const lines = error.message.split('\n').map((line) => line.trim());
    t.is(lines[0], '8 errors, and nothing was written:');
    for (const line of [
      'line 28 is neither a section nor a setting in a section',
      'line 15: [Peer] has no address inside 10.8.0.0/24 or fd42::/64; set the networks as said below, then import again',
      'line 22: AllowedIPs holds 1.2.3.4.5, which is no network',
      'line 5: [Peer] name has already been taken',
      'line 10: [Peer] AllowedIPs has already been taken',
      'line 20: [Peer] PublicKey should be 44 character(s)',
      'line 20: [Peer] PublicKey must be a base64-encoded string',
      'line 25: [Peer] PublicKey has already been taken',
    ])
      t.true(lines.includes(line), `${line}\nin\n${error.message}`);
    t.deepEqual((await shown(database)).length, 1);
  });
}

test('what to set is said, and no secret is', async (t) => {
  const other = randomBytes(32).toString('base64');
  const { run } = await start(t, 'sqlite');
  const file =
    `[Interface]\nPrivateKey = ${other}\nAddress = 10.8.0.1/24,fd42::1/64\nListenPort = 51999\n` +
    'MTU = 1400\nDNS = 9.9.9.9\nTable = off\nPostUp = iptables -A FORWARD\nSaveConfig = true\nX = 1\n';
  const error = await t.throwsAsync(run(file + peer('a', '10.8.0.2/32')), {
    instanceOf: ImportError,
  });
  const derived = derivePublicKey(new Uint8Array(Buffer.from(other, 'base64')));
  for (const text of [
    `set WIREGUARD_PRIVATE_KEY to the PrivateKey of line 2 (or WIREGUARD_PRIVATE_KEY_FILE): the clients know the server as ${Buffer.from(derived).toString('base64')}`,
    'set WIREGUARD_PORT=51999',
    'set WIREGUARD_MTU=1400',
    'set WIREGUARD_IPV4_NETWORK=10.8.0.0/24',
    'set WIREGUARD_IPV4_ADDRESS=10.8.0.1',
    'set WIREGUARD_IPV6_NETWORK=fd42::/64',
    'set WIREGUARD_IPV6_ADDRESS=fd42::1',
    'line 6: DNS is not taken over; it was',
    'line 7: Table is not taken over; the gateway routes its own networks only',
    'line 8: PostUp is not taken over; the gateway forwards and masquerades by itself',
    'line 9: SaveConfig is not taken over',
    'line 10: X is not taken over',
  ])
    t.true(error.message.includes(text), `${text}\nin\n${error.message}`);
  t.false(error.message.includes(other));
});

test("a client's file is no server's", async (t) => {
  const { run } = await start(t, 'sqlite', SETTINGS);
  const file = `[Interface]\nPrivateKey = ${privateKey}\n${peer('server', '0.0.0.0/0, ::/0')}`;
  await t.throwsAsync(run(file), { message: /line 5: \[Peer\] has no address inside/ });
  await t.throwsAsync(run(peer('a', '10.8.0.2/32')), { message: /has 0 \[Interface\] sections/ });
});

test('a key that is there twice in a peer is an error, because a header may be missing', async (t) => {
  const { run } = await start(t, 'sqlite', SETTINGS);
  const file = `[Interface]\nPrivateKey = ${privateKey}\n${peer('phone', '10.8.0.2/32')}`;
  const merged = `${file}PublicKey = ${newKey()}\nAllowedIPs = 10.8.0.3/32\n`;
  await t.throwsAsync(run(merged), {
    message:
      /^one error, .*\n  line 8: PublicKey is there a second time in this \[Peer\]; is a line \[Peer\] missing\?/,
  });
});

test('notes that differ in their line alone are one sentence', async (t) => {
  const { run } = await start(t, 'sqlite', SETTINGS);
  const keepalive = 'PersistentKeepalive = 25\n';
  const peers = [2, 3, 4].map((i) => peer(`p${i}`, `10.8.0.${i}/32`, keepalive));
  const { notes } = await run(`[Interface]\nPrivateKey = ${privateKey}\n${peers.join('')}`);
  t.deepEqual(notes, [
    'line 8 and 2 other lines: PersistentKeepalive is not taken over; it belongs into the file of the client',
  ]);
});

test('a file of nothing but errors costs no statement for each, and a hundred are named', async (t) => {
  const { database, run } = await start(t, 'sqlite', SETTINGS);
  let statements = 0;
  const count = database.sequelize.query.bind(database.sequelize);
  database.sequelize.query = ((...given: Parameters<typeof count>) => {
    statements += 1;
    return count(...given);
  }) as typeof count;
  for (const block of [
    '[Peer]\n',
    peer('x', '10.8.0.2/32'),
    peer('x', '10.8.0.2/32', 'nonsense\n'),
  ]) {
    statements = 0;
    const { message } = await t.throwsAsync(run(`[Interface]\n${block.repeat(5_000)}`));
    const lines = message.split('\n').filter((line) => /^ {2}line/.test(line));
    t.regex(message, /^more than 100 errors, and nothing was written; the first 100:\n/);
    t.is(lines.length, 100);
    t.true(statements < 100, `${statements} statements`);
  }
});

test('a name that many peers have gets a number in each of them', async (t) => {
  const { database, run } = await start(t, 'sqlite', SETTINGS);
  const peers = Array.from({ length: 200 }, (_, i) => peer('phone', `10.8.0.${i + 2}/32`));
  const { devices = [] } = await run(`[Interface]\n${peers.join('')}`);
  t.is(devices.at(-1)?.name, 'phone (200)');
  t.is(await database.models.Device.count(), 200);
});

test('addresses that are dropped inside a tunnel are said, and peers in comments too', async (t) => {
  const { run } = await start(t, 'sqlite', SETTINGS);
  const { notes, counts } = await run(
    `[Interface]\nPrivateKey = ${privateKey}\n# Ann\n#[Peer]\n#PublicKey = x\n${peer('phone', '10.8.0.2/32, fe80::2/128')}`,
  );
  t.deepEqual(counts, { devices: 1 });
  t.deepEqual(notes, [
    'line 4: the [Peer] "Ann" is switched off by number signs and is not taken over',
    'line 10: AllowedIPs fe80::2/128 is not taken over; such addresses are dropped inside a tunnel',
  ]);
});

test('a peer that no setting helps is not sent to settings', async (t) => {
  const { run } = await start(t, 'sqlite', SETTINGS);
  const file = `[Interface]\nPrivateKey = ${privateKey}\nAddress = 10.8.0.1/24\n`;
  const { message } = await t.throwsAsync(
    run(file + peer('a', '10.8.0.2/32') + peer('b', '192.168.9.9/32') + peer('c', '0.0.0.0/0')),
  );
  t.regex(
    message,
    /line 11: \[Peer\] has no address inside .*; no setting of the networks holds it/,
  );
  t.regex(message, /line 16: \[Peer\] has no address inside .*; give it one, such as/);
  t.notRegex(message, /as said below/);
});

test('no owner is made whose e-mail looks like that of a user', async (t) => {
  const { database } = await start(t, 'sqlite');
  const make = (newEmail: string) =>
    write(database, (transaction) => makeOwner(database, { id: newId(), newEmail }, transaction));
  t.deepEqual(await make('\uff41nn@b.example'), ['--email looks like the address of another user']);
  t.deepEqual(await make('eve@b.example'), []);
  t.is(await database.models.User.count(), 2);
});
