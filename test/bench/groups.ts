// What groups cost: `node test/bench/groups.ts [rounds]`.
//
// Memory: 10,000 users with a device each, without groups and then each in a set of 16 of 20 groups
// that nobody else has: bytes of heap of each, on the main thread and in a worker.
//
// How soon a change of who is in a group is in force: a whole gateway without a TUN, on SQLite: 20 groups with 500 rules each, and 1,000 users with a
// device each, who are in 15 of them. Then all of them come to one more group, by one request, and
// leave it again. The answer says that the change is in force. The bars are those of docs/packets.md.

import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigInForce } from '../../dataplane/diff.ts';
import { Filter } from '../../dataplane/filter/filter.ts';
import { Tracker } from '../../dataplane/filter/tracker.ts';
import { Translation } from '../../lib/reconcile/translation.ts';
import { changesOf, deviceRow, everything, settings, userRow } from '../support/reconcile/rows.ts';
import { makeKeyPair } from '../support/network/wireguard-client.ts';
import { collectGarbage } from '../support/suite/kept-memory.ts';
import { fillPlace, type Gateway, startGateway } from './gateway.ts';

const ROUNDS = Number(process.argv[2] ?? 10);
const GROUPS = 20;
const RULES = 10_000;
/** Groups that each user is in from the start. */
const MEMBERSHIPS = 15;
/** V8 still compiles and collects what the start left. */
const SETTLE_MS = 11_000;

const folder = mkdtempSync(join(tmpdir(), 'postern-bench-groups-'));
mkdirSync(join(folder, 'data'));

async function ask(gateway: Gateway, path: string, body: object): Promise<Record<string, string>> {
  const response = await fetch(`${gateway.uri}/v0/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  if (response.headers.get('postern-applied') === 'false') throw new Error(`${path}: not in force`);
  return ((await response.json()) as { data: Record<string, string> }).data;
}

/** Does something for each of some values, ten at once. */
async function forEach<T>(values: readonly T[], work: (value: T, i: number) => Promise<unknown>) {
  const rest = [...values.entries()];
  const one = async (): Promise<void> => {
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) await work(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: 10 }, one));
}

async function changeMembers(gateway: Gateway, group: string, members: object): Promise<number> {
  const began = performance.now();
  await ask(gateway, `groups/${group}/members`, { members });
  return performance.now() - began;
}

function line(name: string, times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string => sorted[Math.floor((sorted.length - 1) * share)]!.toFixed(0);
  return `| ${name} | ${at(0)} | ${at(0.5)} | ${at(1)} |\n`;
}

const USERS = 10_000;

/** Different sets of MEMBERSHIPS of the groups, of which there are 15,504. */
function differentSets(): number[][] {
  const sets: number[][] = [];
  const extend = (set: number[], next: number): void => {
    if (set.length === MEMBERSHIPS) sets.push(set);
    for (let group = next; set.length < MEMBERSHIPS && group < GROUPS; group++)
      extend([...set, group], group + 1);
  };
  extend([], 0);
  return sets.slice(0, USERS);
}

/** What is in here is not collected. */
const kept: object[] = [];

/** Bytes of heap for each user that some work leaves behind; `owner` is what holds them. */
function bytesOfEach(owner: object, work: () => void): number {
  kept.push(owner);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  work();
  collectGarbage();
  return Math.round((process.memoryUsage().heapUsed - before) / USERS);
}

/** What sets of groups cost on the main thread: in the translation, and in what is in force. */
function bytesOnMainThread(): number {
  const translation = new Translation(settings);
  const inForce = new ConfigInForce();
  const handOver = (): void => {
    const amendment = translation.pending();
    if (amendment !== null) inForce.amend(amendment);
    translation.handOver();
  };
  const ids = Array.from({ length: USERS }, (_, i) => `user ${i}`);
  const devices = ids.map((user_id, i) =>
    deviceRow({ id: `device ${i}`, user_id, public_key: `key ${i}`, ipv4: null, ipv6: null }),
  );
  translation.take(everything({ users: ids.map((id) => userRow({ id })), devices }), 0);
  handOver();
  const names = Array.from({ length: GROUPS }, (_, i) => `group ${i}`);
  return bytesOfEach({ translation, inForce }, () => {
    const sets = differentSets();
    const groups = new Map(ids.map((id, i) => [id, sets[i]!.map((group) => names[group]!)]));
    translation.take(changesOf({ groups }), 1);
    handOver();
  });
}

function bytesInWorker(): number {
  const filter = new Filter('accept');
  const tracker = new Tracker(filter, Math.random);
  for (let slot = 0; slot < USERS; slot++) tracker.addPeer(slot, `user ${slot}`);
  return bytesOfEach(tracker, () => {
    for (const [slot, set] of differentSets().entries())
      tracker.join(slot, String.fromCharCode(...set));
  });
}

const place = {
  url: `sqlite:${join(folder, 'data', 'postern.sqlite')}`,
  encryptionKey: randomBytes(32),
};
process.stdout.write(`bytes for each of ${USERS} users in groups: main thread `);
process.stdout.write(`${bytesOnMainThread()}, each worker ${bytesInWorker()}\n`);
const users = await fillPlace(place, 1);
const gateway = await startGateway(place, folder);
try {
  const groups: string[] = [];
  for (let i = 0; i < GROUPS; i++)
    groups.push((await ask(gateway, 'groups', { group: { name: `group ${i}` } }))['id']!);
  await forEach(Array.from({ length: RULES }), (_, i) =>
    ask(gateway, 'rules', {
      rule: { destination: `10.${i >> 8}.${i & 255}.0/24`, group_id: groups[i % GROUPS] },
    }),
  );
  await forEach(users, (user_id) =>
    ask(gateway, 'devices', { device: { user_id, public_key: makeKeyPair().publicKey } }),
  );
  for (const group of groups.slice(0, MEMBERSHIPS))
    await changeMembers(gateway, group, { add: users });
  await sleep(SETTLE_MS);
  const last = groups.at(-1)!;
  const [come, leave]: [number[], number[]] = [[], []];
  for (let i = 0; i < ROUNDS; i++) {
    come.push(await changeMembers(gateway, last, { add: users }));
    await sleep(500);
    leave.push(await changeMembers(gateway, last, { remove: users }));
    await sleep(500);
  }
  process.stdout.write(`${users.length} users, in force after ms: | | least | median | most |\n`);
  process.stdout.write(line('they come to a group', come) + line('they leave it', leave));
} finally {
  await gateway.stop();
  rmSync(folder, { recursive: true });
}
