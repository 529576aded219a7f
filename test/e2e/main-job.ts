// The main job, end to end, for one engine: real wireguard-go clients that were registered over the
// API, real traffic through the gateway, and rules that decide which. The topology is drawn in
// test/support/network/topology.ts. The tests build on each other and run in their order.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { Capture, NFT } from '../support/network/capture.ts';
import { type Data, Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  canReach,
  GATEWAY4,
  GATEWAY6_BOB,
  LAN4,
  LAN4_OTHER,
  LAN6,
  LAN6_OTHER,
  type Topology,
  Traffic,
  traffic,
  transfer,
  TUNNEL4,
  TUNNEL6,
} from '../support/network/topology.ts';
import { makeKeyPair } from '../support/network/wireguard-client.ts';
import { enrol, type Person } from './people.ts';
import { way } from '../support/suite/ways.ts';
import { differs, FROM_OUTSIDE, LARGE_ANSWERS } from './ways.ts';
import { temporaryFolder } from '../support/suite/temporary-folder.ts';

/** How one run of the suite differs from another. */
export interface MainJobOptions {
  readonly prefix: string;
  readonly engine: 'native' | 'typescript';
  /** Bytes of the large TCP transfers. */
  readonly transferBytes: number;
  /** Further settings; asked for once the network is there. */
  readonly settings?: () => Promise<Record<string, string>>;
}

interface World {
  readonly topology: Topology;
  readonly postern: Postern;
  alice: Person;
  bob: Person;
}

/** Age at which a client renews its session, in seconds (6.1). */
const REKEY_AFTER_TIME_S = 120;
/** How soon a write must show in the packets after it was answered. */
const IN_FORCE_MS = 50;
/** A stream that waits longer was disturbed; a lost segment alone is sent again sooner. */
const PAUSED_MS = 1_000;
/** How old totals may be: a sample a second, and the writing of it. */
const SAMPLED_MS = 2_000;

/** Declares the tests. */
export function mainJob(options: MainJobOptions): void {
  const test = anyTest.serial as TestFn;
  let topology: Topology | null = null;
  let world: World;

  test.before('a gateway, two users, a device each', async (t) => {
    t.timeout(120_000);
    topology = await buildTopology(options.prefix);
    world = await begin(topology, options);
  });

  test.after.always('the network goes away', async () => {
    await topology?.network.remove();
  });

  const declare = (
    title: string,
    run: (t: ExecutionContext, world: World) => Promise<void>,
  ): void =>
    test(title, async (t) => {
      t.timeout(240_000);
      await run(t, world);
    });

  declare(
    'the engine that was asked for runs, with the way that was asked for',
    async (t, { postern }) => {
      const line = postern.logLines().find((candidate) => candidate['msg'] === 'Postern serves');
      t.is(line?.['engine'], options.engine);
      t.is(line?.['tun'], way === 'sockets' ? null : 'wg-postern');
      t.is(line?.['egress'], way === 'sockets' ? 'sockets' : 'tun');
      t.is(line?.['masquerade'], true);
    },
  );
  declare('handshake and ping to the gateway, both families, over IPv4 and IPv6', pings);
  declare('the lan answers, both families', pingsToLan);
  declare('the API shows handshake, endpoint and bytes within a second', showsStatus);
  declare('"wg show" tells of interface and peers, and cannot change them', showsInterface);
  declare('a large TCP transfer each way arrives unchanged', (t, w) =>
    transfers(t, w, options.transferBytes),
  );
  declare('UDP datagrams of many sizes are answered', udp);
  declare('two devices of two users reach each other', deviceToDevice);
  declare('a global drop rule stops one destination and nothing else, within 50 ms', globalDrop);
  declare("a user's accept rule overrides it for that user only", userAccept);
  declare('deleting a rule acts at once', deleteRules);
  declare('a tcp port rule stops that port only', portRule);
  declare('an IPv6 rule leaves IPv4 alone', familyRule);
  declare('a changed key and address act at once while another transfer runs on', changes);
  declare('a client roams to another port and address', roams);
  declare('a wrong key, spoofing, replay and noise: no answer, a counted reason', hostile);
  declare('a wrong preshared key brings no data, and is counted', wrongPresharedKey);
  declare('after a restart traffic flows again and totals go on', restart);
  declare('deleting a device acts at once', deleteDevice);
  declare('deleting a user acts at once', deleteUser);
  declare('nothing was logged per packet, and no secret at all', quietLog);
  declare('a stop takes TUN and nft table away', stops);
}

// ---- the beginning ---------------------------------------------------------------------------

async function begin(topology: Topology, options: MainJobOptions): Promise<World> {
  const postern = new Postern(topology.gateway, API_ADDRESS, {
    DATAPLANE_ENGINE: options.engine,
    WIREGUARD_TUN: 'required',
    ...(await options.settings?.()),
  });
  await postern.start();
  const alice = await enrol(postern, topology.alice, 'alice@example.test', `${GATEWAY4}:51820`);
  const bob = await enrol(postern, topology.bob, 'Bob@example.test', `[${GATEWAY6_BOB}]:51820`);
  return { topology, postern, alice, bob };
}

// ---- what must work --------------------------------------------------------------------------

async function showsInterface(t: ExecutionContext, { topology, alice }: World): Promise<void> {
  const { gateway } = topology;
  const show = async (): Promise<{ self: string[]; peer: string[] }> => {
    const { stdout } = await gateway.run('wg', 'show', 'wg-postern', 'dump');
    const [self = [], ...peers] = stdout
      .trim()
      .split('\n')
      .map((line) => line.split('\t'));
    const peer = peers.find(([publicKey]) => publicKey === alice.device['public_key']) ?? [];
    return { self, peer };
  };
  const { self, peer } = await show();
  t.is(self[1], String(alice.device['server_public_key']));
  t.is(self[2], '51820');
  t.is(peer[1], String(alice.device['preshared_key']));
  t.is(peer[3], `${String(alice.device['ipv4'])}/32,${String(alice.device['ipv6'])}/128`);
  t.true(Number(peer[4]) > 0, 'a handshake was seen');
  t.true(Number(peer[5]) > 0 && Number(peer[6]) > 0, 'bytes were counted');
  // Right after a packet, not a second later.
  for (let i = 0, before = peer; i < 5; i += 1) {
    t.true(await canPing(alice.client.host, TUNNEL4));
    const { peer: after } = await show();
    t.true(Number(after[5]) > Number(before[5]), `show ${i} has the bytes of the ping before`);
    before = after;
  }
  const key = String(alice.device['public_key']);
  t.false(await gateway.succeeds('wg', 'set', 'wg-postern', 'peer', key, 'remove'));
}

async function pings(t: ExecutionContext, { alice, bob }: World): Promise<void> {
  for (const { client } of [alice, bob]) {
    t.true(await canPing(client.host, TUNNEL4), `${client.host.namespace} IPv4`);
    t.true(await canPing(client.host, TUNNEL6), `${client.host.namespace} IPv6`);
    t.true((await client.latestHandshake()) > 0);
  }
}

async function pingsToLan(t: ExecutionContext, { alice, bob }: World): Promise<void> {
  for (const { client } of [alice, bob])
    for (const to of [LAN4, LAN6])
      t.true(await canPing(client.host, to), `${client.host.namespace} to ${to}`);
}

async function showsStatus(t: ExecutionContext, { postern, alice, bob }: World): Promise<void> {
  await sleep(SAMPLED_MS);
  for (const [person, remoteIp] of [
    [alice, '192.0.2.2'],
    [bob, '2001:db8:3::2'],
  ] as const) {
    const device = await postern.read('device', person.device.id);
    t.is(device['remote_ip'], remoteIp);
    t.true(Math.abs(Date.parse(String(device['latest_handshake'])) - Date.now()) < 60_000);
    t.true(Number(device['rx_bytes']) > 500);
    t.true(Number(device['tx_bytes']) > 500);
    const { stdout } = await person.client.host.run(
      'wg',
      'show',
      person.client.interfaceName,
      'transfer',
    );
    const [, received, sent] = stdout.trim().split('\t').map(Number);
    t.true(Math.abs(Number(device['tx_bytes']) - received!) < 500, 'as wg show counts');
    t.true(Math.abs(Number(device['rx_bytes']) - sent!) < 500, 'as wg show counts');
  }
}

async function transfers(t: ExecutionContext, w: World, bytes: number): Promise<void> {
  const { lan } = w.topology;
  const { alice, bob } = w;
  const aliceAddress = String(alice.device['ipv4']);
  // The lan reaches a device only where it was given a route: masquerading hides the devices.
  await lan.ip('route', 'replace', '100.64.0.0/10', 'via', '198.51.100.1');
  const up = await transfer(alice.client.host, lan, LAN4, bytes);
  t.deepEqual(up.received, { bytes, sha256: up.sent['sha256'] });
  if (!differs(FROM_OUTSIDE)) {
    const down = await transfer(lan, alice.client.host, aliceAddress, bytes);
    t.deepEqual(down.received, { bytes, sha256: down.sent['sha256'] });
  }
  const small = Math.ceil(bytes / 10);
  const v6 = await transfer(bob.client.host, lan, LAN6, small);
  t.deepEqual(v6.received, { bytes: small, sha256: v6.sent['sha256'] });
  await lan.ip('route', 'del', '100.64.0.0/10');
}

async function udp(t: ExecutionContext, { topology, alice, bob }: World): Promise<void> {
  const echo = await new Traffic(topology.lan, 'echo', 7000, LAN4, LAN6).ready();
  // 1232 is the largest that fits the tunnel's MTU over IPv6; 3000 goes in fragments.
  for (const size of [4, 100, 1232, 3000]) {
    const count = 50;
    for (const [person, to] of [
      [alice, LAN4],
      [bob, LAN6],
    ] as const) {
      if (size > 1232 && to === LAN6 && differs(LARGE_ANSWERS)) {
        await arrives(topology, person, size);
        continue;
      }
      // The lan learns the tunnel's MTU from its first large answer, which is lost on the way.
      if (size > 1232) await traffic(person.client.host, 'ask', to, 7000, size, 1);
      t.deepEqual(
        await traffic(person.client.host, 'ask', to, 7000, size, count),
        { answered: count },
        `${size} bytes to ${to}`,
      );
    }
  }
  await echo.stop();
}

/** Sends a datagram that the lan does not answer. */
async function arrives({ lan }: Topology, { client }: Person, size: number): Promise<void> {
  const watch = await new Traffic(lan, 'watch', 7001, LAN6).ready();
  await traffic(client.host, 'ask', LAN6, 7001, size, 1);
  await watch.line((line) => line['number'] === 0);
  await watch.stop();
}

async function deviceToDevice(t: ExecutionContext, { alice, bob }: World): Promise<void> {
  t.true(await canPing(alice.client.host, String(bob.device['ipv4'])));
  t.true(await canPing(bob.client.host, String(alice.device['ipv6'])));
  const bytes = 5_000_000;
  const { sent, received } = await transfer(
    alice.client.host,
    bob.client.host,
    String(bob.device['ipv4']),
    bytes,
  );
  t.deepEqual(received, { bytes, sha256: sent['sha256'] });
}

// ---- rules -----------------------------------------------------------------------------------

/** Beacons from a client to lan addresses, and what arrives of them. */
async function beacons(
  { topology }: World,
  from: Topology['alice'],
  addresses: readonly string[],
): Promise<{ watch: Traffic; stop: () => Promise<void> }> {
  const watch = await new Traffic(topology.lan, 'watch', 7100, ...addresses).ready();
  const sender = new Traffic(from, 'beacon', 7100, 2, ...addresses);
  await Promise.all(addresses.map((to) => watch.line((line) => line['to'] === to)));
  return {
    watch,
    stop: async () => {
      await sender.stop();
      await watch.stop();
    },
  };
}

/** How many beacons arrived that were sent after a time: how late others came is no matter here. */
function arrivals(watch: Traffic, to: string, sinceMs: number): number {
  return watch.lines.filter((line) => line['to'] === to && Number(line['sent']) > sinceMs).length;
}

let dropRule: Data;
let acceptRule: Data;

async function globalDrop(t: ExecutionContext, w: World): Promise<void> {
  const { watch, stop } = await beacons(w, w.alice.client.host, [LAN4, LAN4_OTHER]);
  dropRule = await w.postern.create('rule', { action: 'drop', destination: `${LAN4}/32` });
  const answeredAt = Date.now();
  await sleep(1_000);
  t.is(arrivals(watch, LAN4, answeredAt + IN_FORCE_MS), 0, 'the destination is silent');
  t.true(arrivals(watch, LAN4_OTHER, answeredAt + IN_FORCE_MS) > 100, 'the other is not');
  await stop();
  t.false(await canPing(w.bob.client.host, LAN4));
  t.true(await canPing(w.bob.client.host, LAN6));
  t.true(await canPing(w.bob.client.host, TUNNEL4));
}

async function userAccept(t: ExecutionContext, w: World): Promise<void> {
  acceptRule = await w.postern.create('rule', {
    action: 'accept',
    destination: LAN4,
    user_id: w.alice.user.id,
  });
  t.true(await canPing(w.alice.client.host, LAN4));
  t.false(await canPing(w.bob.client.host, LAN4));
}

async function deleteRules(t: ExecutionContext, w: World): Promise<void> {
  const { watch, stop } = await beacons(w, w.alice.client.host, [LAN4]);
  const { at } = await w.postern.remove('rule', acceptRule.id);
  await sleep(500);
  t.is(arrivals(watch, LAN4, at + IN_FORCE_MS), 0, 'without the accept the drop holds again');
  const again = await w.postern.remove('rule', dropRule.id);
  await sleep(500);
  t.true(arrivals(watch, LAN4, again.at) > 50, 'without the drop everything passes');
  await stop();
  t.true(await canPing(w.bob.client.host, LAN4));
}

async function portRule(t: ExecutionContext, w: World): Promise<void> {
  const { lan } = w.topology;
  const { host } = w.alice.client;
  const server = await new Traffic(lan, 'accept', 8080, 8081).ready();
  t.true(await canReach(host, LAN4, 8080));
  const rule = await w.postern.create('rule', {
    action: 'drop',
    destination: '198.51.100.0/24',
    port_type: 'tcp',
    port_range: '8080',
  });
  t.false(await canReach(host, LAN4, 8080));
  t.true(await canReach(host, LAN4, 8081), 'another port');
  t.true(await canReach(host, LAN6, 8080), 'another family');
  t.true(await canPing(host, LAN4), 'another protocol');
  await w.postern.remove('rule', rule.id);
  t.true(await canReach(host, LAN4, 8080));
  await server.stop();
}

async function familyRule(t: ExecutionContext, w: World): Promise<void> {
  const { host } = w.bob.client;
  const rule = await w.postern.create('rule', { action: 'drop', destination: '::/0' });
  t.false(await canPing(host, LAN6_OTHER));
  t.true(await canPing(host, LAN4));
  await w.postern.remove('rule', rule.id);
  t.true(await canPing(host, LAN6_OTHER));
}

// ---- changes ---------------------------------------------------------------------------------

/** A stream at a pace that lasts until it is ended. */
async function beginStream(from: Topology['alice'], to: Topology['lan'], address: string) {
  const receiver = await new Traffic(to, 'receive', 6100).ready();
  const sender = new Traffic(from, 'trickle', address, 6100, 2);
  const largest = (name: string): number =>
    Math.max(0, ...receiver.lines.map((line) => Number(line[name] ?? 0)));
  return {
    /** Waits until more of it has come than had by now. */
    runsOn: async (): Promise<void> => {
      const nowMs = Date.now();
      await until('more of the stream', () => largest('at') > nowMs);
    },
    /** What both ends say of it, and for how long at most none of it came. */
    end: async () => {
      sender.child.stdin?.end();
      const ends = [sender, receiver].map((end) => end.line((line) => 'sha256' in line));
      const [sent, received] = await Promise.all(ends);
      return { sent, received, pausedMs: largest('pausedMs') };
    },
  };
}

async function changes(t: ExecutionContext, w: World): Promise<void> {
  const { alice, bob, postern } = w;
  const { host } = alice.client;
  // The session begins anew, so that no key of it is due before the end.
  await bob.client.reconfigure({});
  t.true(await canPing(bob.client.host, TUNNEL6));
  const before = await bob.client.latestHandshake();
  const undisturbed = await beginStream(bob.client.host, w.topology.lan, LAN6);
  await undisturbed.runsOn();

  const keys = makeKeyPair();
  alice.device = await postern.update('device', alice.device.id, { public_key: keys.publicKey });
  t.false(await canPing(host, TUNNEL4), 'the old key is void');
  await alice.client.reconfigure({ keys });
  alice.keys = keys;
  t.true(await canPing(host, TUNNEL4), 'the key that replaced it serves');
  await undisturbed.runsOn();

  const oldAddress = String(alice.device['ipv4']);
  alice.device = await postern.update('device', alice.device.id, { ipv4: '100.64.7.7' });
  t.false(await canPing(host, TUNNEL4), 'the old address is refused');
  // In this order: with its last address an interface loses its routes.
  await alice.client.addAddress('100.64.7.7');
  await alice.client.removeAddress(oldAddress);
  t.true(await canPing(host, TUNNEL4), 'the address that replaced it serves');
  t.true(await canPing(bob.client.host, '100.64.7.7'), 'and is reached by others');

  await undisturbed.runsOn();
  const { sent, received, pausedMs } = await undisturbed.end();
  t.deepEqual(received, sent);
  t.true(pausedMs < PAUSED_MS, `nothing of the stream came for ${pausedMs} ms`);
  t.is(await bob.client.latestHandshake(), before, 'the other device kept its session');
}

async function roams(t: ExecutionContext, { postern, alice, topology }: World): Promise<void> {
  const { host } = alice.client;
  const before = await alice.client.latestHandshake();
  await host.run('wg', 'set', alice.client.interfaceName, 'listen-port', '45454');
  t.true(await canPing(host, TUNNEL4), 'from another port');
  await host.ip('address', 'del', '192.0.2.2/24', 'dev', 'c0');
  await host.ip('address', 'add', '192.0.2.77/24', 'dev', 'c0');
  // Rebinding its socket is what tells wireguard-go that its address is gone.
  await host.run('wg', 'set', alice.client.interfaceName, 'listen-port', '45455');
  t.true(await canPing(host, TUNNEL4), 'from another address');
  if (!differs(FROM_OUTSIDE))
    t.true(await canPing(topology.gateway, String(alice.device['ipv4'])), 'and is found there');
  // Roaming makes no session; age does.
  const after = await alice.client.latestHandshake();
  t.true(after === before || after - before >= REKEY_AFTER_TIME_S, 'in the same session');
  await until('the API shows the address', async () => {
    const device = await postern.read('device', alice.device.id);
    return device['remote_ip'] === '192.0.2.77';
  });
}

// ---- hostile ---------------------------------------------------------------------------------

/** UDP payloads that a client sends to the gateway over IPv4, taken from the wire. */
async function capture(host: Topology['alice'], act: () => Promise<unknown>): Promise<Buffer[]> {
  const wire = await new Capture(host, 'c0', '-Q', 'out', 'udp dst port 51820').ready();
  await act();
  await sleep(500);
  const packets = await wire.stop();
  return packets.filter((packet) => packet[0]! >> 4 === 4).map((packet) => packet.subarray(20 + 8));
}

/** Fires datagrams at the gateway from another port; resolves to how many answers came. */
async function fire(host: Topology['alice'], datagrams: readonly Buffer[]): Promise<number> {
  const file = join(temporaryFolder('postern-fire-'), 'datagrams');
  writeFileSync(file, datagrams.map((datagram) => datagram.toString('base64')).join('\n'));
  const { answers } = await traffic(host, 'fire', GATEWAY4, 51820, file);
  return Number(answers);
}

async function hostile(t: ExecutionContext, w: World): Promise<void> {
  const { alice, postern } = w;
  const { host } = alice.client;
  const before = postern.drops();
  const increase = (reason: string): number =>
    (postern.drops()[reason] ?? 0) - (before[reason] ?? 0);
  const counted = (reason: string, atLeast: number): Promise<void> =>
    until(`${reason} counted`, () => increase(reason) >= atLeast, 3_000);

  const wire = await capture(host, async () => {
    await alice.client.reconfigure({});
    await canPing(host, TUNNEL4);
  });
  const initiations = wire.filter((bytes) => bytes[0] === 1 && bytes.length === 148);
  const data = wire.filter((bytes) => bytes[0] === 4);
  t.true(initiations.length > 0 && data.length > 0, 'captured');
  t.is(await fire(host, data), 0, 'replayed data is not answered');
  await counted('transport_replayed', data.length);
  t.is(await fire(host, initiations), 0, 'a replayed initiation is not answered');
  await counted('initiation_replayed', initiations.length);
  t.true(await canPing(host, TUNNEL4), 'and the session exists');

  const noise = Array.from({ length: 500 }, (_, i) =>
    Buffer.from(crypto.getRandomValues(new Uint8Array(1 + ((i * 37) % 1400)))),
  );
  t.is(await fire(host, noise), 0, 'random bytes are not answered');
  await counted('malformed_message', 490);
  const shaped = Array.from({ length: 100 }, () => {
    const bytes = Buffer.from(crypto.getRandomValues(new Uint8Array(148)));
    bytes.writeUInt32LE(1);
    return bytes;
  });
  t.is(await fire(host, shaped), 0, 'forged initiations are not answered');
  await counted('mac1_invalid', 100);

  await alice.client.addAddress('100.64.9.9');
  t.false(
    await host.succeeds('ping', '-c', '3', '-i', '0.2', '-W', '1', '-I', '100.64.9.9', TUNNEL4),
  );
  await counted('inner_source_not_allowed', 3);
  await alice.client.removeAddress('100.64.9.9');

  await alice.client.reconfigure({ keys: makeKeyPair() });
  t.false(await canPing(host, TUNNEL4), 'an unknown key');
  t.is(await alice.client.latestHandshake(), 0);
  await counted('initiation_unknown_peer', 1);
  await alice.client.reconfigure({ keys: alice.keys });
  t.true(await canPing(host, TUNNEL4));
}

async function wrongPresharedKey(t: ExecutionContext, { alice, postern }: World): Promise<void> {
  const { host } = alice.client;
  const before = postern.drops()['handshake_unconfirmed'] ?? 0;
  const wrong = Buffer.alloc(32, 7).toString('base64');
  const right = String(alice.device['preshared_key']);
  await alice.client.reconfigure({ presharedKey: wrong });
  t.false(await canPing(host, TUNNEL4, 40), 'no data passes');
  t.is(await alice.client.latestHandshake(), 0);
  await until(
    'the unconfirmed handshake is counted',
    () => (postern.drops()['handshake_unconfirmed'] ?? 0) > before,
  );
  await alice.client.reconfigure({ presharedKey: right });
  t.true(await canPing(host, TUNNEL4));
}

// ---- the end ---------------------------------------------------------------------------------

async function restart(t: ExecutionContext, w: World): Promise<void> {
  const { postern, alice, bob } = w;
  await sleep(SAMPLED_MS);
  const before = await postern.read('device', bob.device.id);
  await postern.stop();
  await postern.start();
  await until('traffic flows again', () => canPing(bob.client.host, LAN6), 10_000);
  await until('traffic flows again', () => canPing(alice.client.host, LAN4), 10_000);
  await sleep(SAMPLED_MS);
  const after = await postern.read('device', bob.device.id);
  t.true(Number(after['rx_bytes']) > Number(before['rx_bytes']), 'totals go on');
  t.true(Number(after['tx_bytes']) > Number(before['tx_bytes']), 'totals go on');
  t.is(after['server_public_key'], before['server_public_key']);
}

async function deleteDevice(t: ExecutionContext, w: World): Promise<void> {
  const { watch, stop } = await beacons(w, w.alice.client.host, [LAN4]);
  const { at } = await w.postern.remove('device', w.alice.device.id);
  await sleep(500);
  t.is(arrivals(watch, LAN4, at + IN_FORCE_MS), 0);
  await stop();
  t.false(await canPing(w.alice.client.host, TUNNEL4));
  t.true(await canPing(w.bob.client.host, TUNNEL4), 'the other device is not touched');
}

async function deleteUser(t: ExecutionContext, w: World): Promise<void> {
  const { watch, stop } = await beacons(w, w.bob.client.host, [LAN6]);
  const { at } = await w.postern.remove('user', w.bob.user.id);
  await sleep(500);
  t.is(arrivals(watch, LAN6, at + IN_FORCE_MS), 0);
  await stop();
  t.false(await canPing(w.bob.client.host, TUNNEL4));
  const { status } = await w.postern.call('GET', `/v0/devices/${w.bob.device.id}`);
  t.is(status, 404);
}

async function quietLog(t: ExecutionContext, { postern, alice, bob }: World): Promise<void> {
  const lines = postern.output.split('\n').length;
  t.true(lines < 1_500, `${lines} lines`);
  for (const secret of [
    postern.token,
    'correct horse battery',
    alice.device['preshared_key'],
    bob.device['preshared_key'],
    alice.keys.privateKey,
  ])
    t.false(postern.output.includes(String(secret)));
}

async function stops(t: ExecutionContext, { postern, topology }: World): Promise<void> {
  const { gateway } = topology;
  if (way === 'tun') t.regex((await gateway.run(NFT, 'list', 'tables')).stdout, /postern_/);
  const begun = performance.now();
  await postern.stop();
  t.true(performance.now() - begun < 5_000, 'within 5 s');
  t.is((await gateway.run(NFT, 'list', 'tables')).stdout, '');
  t.false(await gateway.succeeds('ip', 'link', 'show', 'wg-postern'), 'the TUN is gone');
}
