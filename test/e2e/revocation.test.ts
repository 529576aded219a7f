// A thousand changes of others cost a device nothing. There are two devices. The datagrams of the
// first go in both directions at a fixed rate, numbered and dated. The second is in use, and
// meanwhile it is removed, created again, gets other keys and is disabled. Around them a crowd of
// users, devices and rules comes, changes and goes. No datagram of the first is lost, and no more
// are late than the machine delays by itself. The processes that carry the datagrams have priority
// over those that make the changes, so a delay is that of the gateway.

import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Host } from '../support/network/namespaces.ts';
import { type Data, Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  beginBeacon,
  beginPace,
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY4_BOB,
  LAN4,
  type Topology,
  TUNNEL4,
} from '../support/network/topology.ts';
import { makeKeyPair } from '../support/network/wireguard-client.ts';
import { enrol, type Person, setDisabled } from './people.ts';

const PORT = 7_300;
const PORT_BESIDE = 7_301;
const EVERY_MS = 2;
const CHANGES = 1_000;

/** So many changes of a device in use, each time with keys to wipe and flows to end. */
const CHANGES_A_ROUND = 50;
const BOB = 'bob@example.test';
const BOB_PORT = 7_400;
const BOB_EVERY_MS = 100;
const BOB_FLOWS = 50;
/** From a change until traffic flows again. */
const BACK_MS = 15_000;

/** How long the traffic is watched while nothing changes. */
const QUIET_MS = 8_000;
/** How often a shared machine may delay everything in that time, by itself. */
const MACHINES_OWN = 2;
/** A datagram that takes longer is late: see traffic.ts. */
const STALL_MS = 20;
/** How many datagrams are late if the machine stops for 60 ms, which is long for it. */
const LATE_AT_ONCE = (60 - STALL_MS) / EVERY_MS;
/** Four processes pass a datagram on through the tunnel and two beside it: it may wait for each. */
const LONGER_WAY = 2;
/** A datagram that takes longer was delayed by the gateway. */
const LONGEST_MS = 100;
/** Niceness of the gateway, the clients and both ends of the traffic. */
const AHEAD = -10;

/** What one end of the paced traffic saw. */
interface Seen {
  readonly sent: number;
  readonly received: number;
  readonly maxMs: number;
  readonly p99Ms: number;
  readonly late: number;
  readonly stalls: number;
}

type BothWays = Record<'up' | 'down', Seen>;
/** Through the tunnel, and on the machine beside it. */
type Paced = BothWays & { readonly machine: BothWays };

/** Starts the processes that carry packets: they inherit the niceness of their parent. */
async function ahead<T>(start: () => Promise<T>): Promise<T> {
  setPriority(AHEAD);
  try {
    return await start();
  } finally {
    setPriority(0);
  }
}

/**
 * What passes between a device and the lan while `act` runs, and what passes beside the tunnel
 * between the hosts of the device and the gateway, where only the machine can cause delays.
 */
async function paced(
  { lan, gateway }: Topology,
  { client }: Person,
  act: () => Promise<void>,
): Promise<Paced> {
  const pace = (near: Host, port: number, address: string): Promise<() => Promise<BothWays>> =>
    ahead(() => beginPace<Seen>(client.host, near, { address, port, everyMs: EVERY_MS }));
  const tunnel = await pace(lan, PORT, LAN4);
  const beside = await pace(gateway, PORT_BESIDE, GATEWAY4);
  await act();
  const [run, machine] = await Promise.all([tunnel(), beside()]);
  return { ...run, machine };
}

/** The work of one administrator: ten writes, each in force when it is answered. */
async function tenChanges(postern: Postern, i: number, kept: Data): Promise<void> {
  const user = await postern.create('user', { email: `u${i}@example.test` });
  const fields = { user_id: user.id, public_key: makeKeyPair().publicKey };
  const device = await postern.create('device', fields);
  const destination = `203.0.113.${i}`;
  const own = await postern.create('rule', { action: 'drop', destination, user_id: user.id });
  const global = await postern.create('rule', { action: 'drop', destination: `203.0.112.${i}/32` });
  await postern.update('device', device.id, { public_key: makeKeyPair().publicKey });
  await postern.update('device', device.id, { ipv4: `100.64.200.${1 + (i % 200)}` });
  await postern.update('device', kept.id, { description: `change ${i}` });
  await postern.remove('rule', global.id);
  if (i % 2 === 0) await postern.remove('rule', own.id);
  await postern.remove('device', device.id);
  await postern.remove('user', user.id);
}

/** Traffic of a device, in many flows, to the lan. */
async function beginFlows({ lan }: Topology, { client }: Person) {
  const options = { address: LAN4, port: BOB_PORT, everyMs: BOB_EVERY_MS, flows: BOB_FLOWS };
  const { last, stop } = await beginBeacon(client.host, lan, options);
  return {
    /** Waits until some of it comes that was not under way. */
    goesOn: async (): Promise<void> => {
      const sinceMs = Date.now() + BOB_EVERY_MS;
      await until('traffic of the device in use', () => last() > sinceMs, BACK_MS);
    },
    stop,
  };
}

/**
 * One of four changes to a device in use; its owner is disabled and enabled on the command line.
 */
async function changeInUse(postern: Postern, bob: Person, round: number): Promise<void> {
  const { id, user_id, ipv4, ipv6 } = bob.device;
  switch (round % 4) {
    case 0: {
      await postern.remove('device', id);
      const fields = { user_id, public_key: bob.keys.publicKey, ipv4, ipv6 };
      bob.device = await postern.create('device', fields);
      return bob.client.reconfigure({ presharedKey: String(bob.device['preshared_key']) });
    }
    case 1:
      bob.keys = makeKeyPair();
      await postern.update('device', id, { public_key: bob.keys.publicKey });
      return bob.client.reconfigure({ keys: bob.keys });
    case 2:
      return setDisabled(postern, 'disable', BOB);
    default:
      // The gateway initiates a handshake with the device that it knows.
      return setDisabled(postern, 'enable', BOB);
  }
}

test.serial('a thousand changes do not disturb the traffic of another device', async (t) => {
  t.timeout(240_000);
  const topology = await buildTopology('pc');
  try {
    const postern = new Postern(topology.gateway, API_ADDRESS, { API_RATE_LIMIT: '0' });
    const alice = await ahead(async () => {
      await postern.start();
      return enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
    });
    t.true(await canPing(alice.client.host, LAN4));
    const bob = await enrol(postern, topology.bob, BOB, `${GATEWAY4_BOB}:51820`);
    const kept = await postern.create('device', {
      user_id: bob.user.id,
      public_key: makeKeyPair().publicKey,
    });
    const flows = await beginFlows(topology, bob);
    await flows.goesOn();
    const handshake = await alice.client.latestHandshake();

    const quiet = await paced(topology, alice, () => sleep(QUIET_MS));
    let tookMs = 0;
    const run = await paced(topology, alice, async () => {
      const began = performance.now();
      for (let i = 0; i < CHANGES / 10; i++) {
        await tenChanges(postern, i, kept);
        if (i % (CHANGES_A_ROUND / 10) > 0) continue;
        const round = i / (CHANGES_A_ROUND / 10);
        await changeInUse(postern, bob, round);
        // While its owner is disabled it has no traffic.
        if (round % 4 !== 2) await flows.goesOn();
      }
      tookMs = performance.now() - began;
    });
    await flows.stop();
    t.log(JSON.stringify({ tookMs, quiet, run }));
    for (const way of ['up', 'down'] as const) noticesNothing(t, way, quiet, run);
    t.is(await alice.client.latestHandshake(), handshake, 'and the session is the same');
    t.true(await canPing(alice.client.host, TUNNEL4));
    await postern.stop();
  } finally {
    await topology.network.remove();
  }
});

/** Checks that nothing was lost, and that no more was late than the machine delays by itself. */
function noticesNothing(t: ExecutionContext, way: 'up' | 'down', quiet: Paced, run: Paced): void {
  const back = way === 'up' ? 'down' : 'up';
  t.is(quiet[way].received, quiet[back].sent, `${way}, without changes`);
  t.is(run[way].received, run[back].sent, `${way}, with changes`);
  const seen = run[way];
  const { up, down } = run.machine;
  const own = (name: 'stalls' | 'late' | 'maxMs'): number =>
    Math.max(quiet[way][name], LONGER_WAY * up[name], LONGER_WAY * down[name]);
  const said = `${way}: ${JSON.stringify({ seen, machine: run.machine[way] })}`;
  t.true(seen.received > 1_000);
  // The machine may delay one datagram in a hundred in the time that the run took.
  const stalls = (MACHINES_OWN * seen.received) / quiet[way].received;
  t.true(seen.stalls <= own('stalls') + stalls, said);
  t.true(seen.late <= own('late') + stalls * LATE_AT_ONCE, said);
  t.true(seen.maxMs <= Math.max(LONGEST_MS, own('maxMs')), said);
}
