// What a thousand changes cost a device that none of them concerns: nothing. Two devices, one whose
// datagrams go both ways at a pace, numbered and dated, and a crowd of users, devices and rules that
// come, change and go meanwhile. No datagram is lost and none meets a stall of 20 ms. What carries
// them runs ahead of what makes the changes, so that a delay is the gateway's.

import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { type Data, Postern } from '../support/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  type Topology,
  Traffic,
  TUNNEL4,
} from '../support/topology.ts';
import { makeKeyPair } from '../support/wireguard-client.ts';
import { enrol, type Person, setDisabled } from './people.ts';

const PORT = 7_300;
const EVERY_MS = 2;
const CHANGES = 1_000;
/** Users that are shut out and let in again, on the command line: a process for each. */
const SHUT_OUT = 10;

/** How long the traffic is watched while nothing changes. */
const QUIET_MS = 8_000;
/** No kind of change comes so seldom; a machine that others share may hold up all once or twice. */
const MACHINES_OWN = 2;
/** Niceness of the gateway, the clients and both ends of the traffic. */
const AHEAD = -10;

/** What one end of the paced traffic saw. */
interface Seen {
  readonly sent: number;
  readonly received: number;
  readonly maxMs: number;
  readonly p99Ms: number;
  readonly stalls: number;
}

/** Starts what carries packets: processes inherit how nice their parent is. */
async function ahead<T>(start: () => Promise<T>): Promise<T> {
  setPriority(AHEAD);
  try {
    return await start();
  } finally {
    setPriority(0);
  }
}

/** Paced traffic between a device and the lan, both ways, while `act` goes on. */
async function paced(
  { lan }: Topology,
  { client }: Person,
  act: () => Promise<void>,
): Promise<{ down: Seen; up: Seen }> {
  const [far, near] = await ahead(async () => [
    await new Traffic(lan, 'pace', PORT, EVERY_MS).ready(),
    await new Traffic(client.host, 'pace', PORT, EVERY_MS, LAN4).ready(),
  ]);
  await act();
  for (const { child } of [near, far]) child.stdin?.end();
  const [down, up] = await Promise.all(
    [near, far].map((end) => end.line((line) => 'received' in line)),
  );
  return { down, up } as unknown as { down: Seen; up: Seen };
}

/** One administrator's day: ten writes, each in force when it is answered. */
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

test.serial('a transfer of another device does not notice a thousand changes', async (t) => {
  t.timeout(240_000);
  const topology = await buildTopology('pc');
  try {
    const postern = new Postern(topology.gateway, API_ADDRESS, { API_RATE_LIMIT: '0' });
    const alice = await ahead(async () => {
      await postern.start();
      return enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
    });
    t.true(await canPing(alice.client.host, LAN4));
    const bob = await postern.create('user', { email: 'b@example.test' });
    const kept = await postern.create('device', {
      user_id: bob.id,
      public_key: makeKeyPair().publicKey,
    });
    const handshake = await alice.client.latestHandshake();

    const quiet = await paced(topology, alice, () => sleep(QUIET_MS));
    let tookMs = 0;
    const run = await paced(topology, alice, async () => {
      const began = performance.now();
      for (let i = 0; i < CHANGES / 10; i++) {
        await tenChanges(postern, i, kept);
        if (i % (CHANGES / 10 / SHUT_OUT) === 0)
          await setDisabled(postern, i % 20 === 0 ? 'disable' : 'enable', 'b@example.test');
      }
      tookMs = performance.now() - began;
    });
    t.log({ tookMs, quiet, run });
    for (const [way, back] of [
      ['up', 'down'],
      ['down', 'up'],
    ] as const) {
      t.is(quiet[way].received, quiet[back].sent, `${way}, without changes`);
      t.is(run[way].received, run[back].sent, `${way}, with changes`);
      t.true(run[way].received > 1_000);
      t.true(
        run[way].stalls <= quiet[way].stalls + MACHINES_OWN,
        `${way}: ${JSON.stringify(run[way])}`,
      );
    }
    t.is(await alice.client.latestHandshake(), handshake, 'and the session is the same');
    t.true(await canPing(alice.client.host, TUNNEL4));
    await postern.stop();
  } finally {
    await topology.network.remove();
  }
});
