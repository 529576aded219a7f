// Limits with real clients and iperf3: TCP settles at the limit of the device, each way, with one
// stream and with eight, and a device beside it is not limited. Who is over the quota reaches the
// portal and nothing else. docs/packets.md#limits. Each way, each number of streams and each limit
// meets each of the others; with `LIMITS=all` all combinations, also at 1 Mbit/s, and over IPv6.

import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { TRANSPORT_OVERHEAD_BYTES } from '../../dataplane/constants.ts';
import type { Host } from '../support/network/namespaces.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY4_BOB,
  LAN4,
  LAN6,
  TUNNEL4,
} from '../support/network/topology.ts';
import { enrol, type Person } from './people.ts';

const MBIT = 1_000_000;
const MBYTE = 1_000_000;
const MTU = 1_280;
/** TCP and its timestamps: what a packet carries beside its IP header and what iperf3 counts. */
const TCP_BYTES = 20 + 12;
const isWhole = process.env['LIMITS'] === 'all';
const TOLERANCE = 0.05;
/** How fast a device without a limit sends beside another: well over what the other may. */
const FREE_MBIT = 150;
/** So long that what a pause saved, half a second at most, is within the tolerance. */
const SECONDS = 10;
/** So much longer data flows where the gateway counts it: its first totals are of unknown age. */
const UNUSED_SECONDS = 3;
/** Totals are written once a second; nobody asks for them right after. */
const UNTIL_NEXT_MS = 700;
const [LIMITED_PORT, FREE_PORT] = [5201, 5202];

interface Scene {
  readonly postern: Postern;
  readonly limited: Person;
  readonly free: Person;
}

async function begin(t: ExecutionContext, settings = {}): Promise<Scene> {
  const { network, alice, bob, gateway, lan } = await buildTopology('li');
  t.teardown(() => network.remove());
  const postern = new Postern(gateway, API_ADDRESS, { WIREGUARD_TUN: 'required', ...settings });
  await postern.start();
  t.teardown(() => postern.stop());
  const limited = await enrol(postern, alice, 'alice@example.test', `${GATEWAY4}:51820`);
  const free = await enrol(postern, bob, 'bob@example.test', `${GATEWAY4_BOB}:51820`);
  for (const { client } of [limited, free]) t.true(await canPing(client.host, LAN4));
  for (const port of [LIMITED_PORT, FREE_PORT]) lan.start('iperf3', ['-s', '-p', String(port)]);
  return { postern, limited, free };
}

/** A transfer: at which limit, over IPv4 or IPv6, which way, and with how many streams. */
interface Course {
  /** In Mbit/s. */
  readonly limit: number;
  readonly family: 4 | 6;
  readonly isDown: boolean;
  readonly streams: number;
}

/** With the one beside another device, which goes up in one stream at 10 Mbit/s. */
const PAIRS: readonly Course[] = [
  { limit: 10, family: 4, isDown: true, streams: 8 },
  { limit: 100, family: 4, isDown: true, streams: 1 },
  { limit: 100, family: 4, isDown: false, streams: 8 },
];

function everyCourse(): Course[] {
  const families = [4, 6] as const;
  return [1, 10, 100].flatMap((limit) =>
    families.flatMap((family) =>
      [true, false].flatMap((isDown) =>
        [1, 8].map((streams) => ({ limit, family, isDown, streams })),
      ),
    ),
  );
}

/** What iperf3 received, in bits per second of inner packets, without its first second. */
async function transfer(
  host: Host,
  port: number,
  { family, isDown, streams }: Omit<Course, 'limit'>,
  ...more: string[]
): Promise<number> {
  const seconds = isDown ? SECONDS + UNUSED_SECONDS : SECONDS;
  const [server, ipBytes] = family === 4 ? [LAN4, 20] : [LAN6, 40];
  const words = ['-J', '-c', server, '-p', `${port}`, '-t', `${seconds}`, '-O', '1'];
  const ways = ['-P', `${streams}`, ...(isDown ? ['-R'] : [])];
  const { stdout } = await host.run('iperf3', ...words, ...ways, ...more);
  const { end } = JSON.parse(stdout) as { end: { sum_received: { bits_per_second: number } } };
  return (end.sum_received.bits_per_second * MTU) / (MTU - ipBytes - TCP_BYTES);
}

/**
 * What the gateway sends to a device meanwhile, in bits per second of inner packets: what a client
 * loses on a busy machine has passed the limit.
 */
async function sentSpeed(postern: Postern, id: string): Promise<number> {
  const totals: { at: number; bytes: number }[] = [];
  const untilMs = Date.now() + (SECONDS + UNUSED_SECONDS) * 1_000;
  while (Date.now() < untilMs) {
    const { body } = await postern.call('GET', `/v0/devices/${id}`);
    const bytes = Number((body as { data: { tx_bytes: number } }).data.tx_bytes);
    const isNew = bytes !== totals.at(-1)?.bytes;
    if (isNew) totals.push({ at: Date.now(), bytes });
    await sleep(isNew ? UNTIL_NEXT_MS : 20);
  }
  // The first is of unknown age, the second may hold the beginning.
  const [, , first, ...rest] = totals;
  const last = rest.at(-1);
  if (first === undefined || last === undefined) throw new Error('too few totals');
  const inner = ((last.bytes - first.bytes) * MTU) / (MTU + TRANSPORT_OVERHEAD_BYTES);
  return (inner * 8_000) / (last.at - first.at);
}

/** The speed of a transfer with a device that has a limit, at the gateway. */
async function speed({ postern, limited }: Scene, course: Course): Promise<number> {
  const { host } = limited.client;
  const [received, sent] = await Promise.all([
    transfer(host, LIMITED_PORT, course),
    course.isDown ? sentSpeed(postern, limited.device.id) : null,
  ]);
  return sent ?? received;
}

test.serial('TCP settles at the limit, and who has none is not held back', async (t) => {
  t.timeout(isWhole ? 900_000 : 240_000);
  const scene = await begin(t);
  const { postern, limited, free } = scene;
  const settles = (measured: number, limit: number, how: string): void => {
    const says = `${how}: ${(measured / MBIT).toFixed(2)} of ${limit / MBIT} Mbit/s`;
    t.log(says);
    t.true(Math.abs(measured / limit - 1) <= TOLERANCE, says);
  };
  for (const course of isWhole ? everyCourse() : PAIRS) {
    const { family, isDown, streams } = course;
    const limit = course.limit * MBIT;
    await postern.update('device', limited.device.id, { limit_down: limit, limit_up: limit });
    const how = `IPv${family}, ${isDown ? 'down' : 'up'}, ${streams} streams`;
    settles(await speed(scene, course), limit, how);
  }
  await postern.update('device', limited.device.id, { limit_up: 10 * MBIT });
  const course = { limit: 10, family: 4, isDown: false, streams: 1 } as const;
  const [slow, fast] = await Promise.all([
    speed(scene, course),
    transfer(free.client.host, FREE_PORT, course, '-b', `${FREE_MBIT}M`),
  ]);
  settles(slow, 10 * MBIT, 'beside another device');
  t.true(fast > 100 * MBIT, `${(fast / MBIT).toFixed(2)} Mbit/s of a device without a limit`);
});

test.serial('who is over the quota reaches the portal and nothing else', async (t) => {
  t.timeout(120_000);
  const { postern, limited, free } = await begin(t, { HTTP_THROUGH_TUNNEL: 'on' });
  const { host } = limited.client;
  const { id } = limited.user;
  // As where the name of EXTERNAL_URL leads devices to the gateway's address in the tunnel.
  const name = 'gateway.example.test:13000';
  const words = ['-fsS', '-m', '5', '-o', '/dev/null', '--resolve', `${name}:${TUNNEL4}`];
  const opensPortal = () => host.succeeds('curl', ...words, `http://${name}/`);
  t.true(await opensPortal());
  await postern.update('user', id, { quota: 5 * MBYTE });
  t.true(await canPing(host, LAN4), 'the quota is not used up');
  // A client that sends ends before all has arrived, one that receives has received it.
  const carry = (...more: string[]) =>
    host.run('iperf3', '-c', LAN4, '-p', `${LIMITED_PORT}`, '-n', ...more);
  await carry('1M');
  await carry('3M', '-R').catch(() => null);
  await carry('2M', '-R').catch(() => null);
  await until('the end of the quota', async () => !(await canPing(host, LAN4, 1)));
  const user = await postern.read('user', id);
  t.is(user['quota_exceeded'], true);
  const used = Number(user['quota_used']);
  t.true(used >= 5 * MBYTE && used < 9 * MBYTE, `${used}`);
  t.true(await opensPortal(), 'the portal still answers');
  t.true(await canPing(host, TUNNEL4));
  t.true(await canPing(free.client.host, LAN4), 'nobody else is concerned');
  await postern.update('user', id, { quota: 100 * MBYTE });
  t.true(await canPing(host, LAN4), 'a write that raises it is in force');
});
