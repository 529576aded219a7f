// How soon a change of who is in a group is in force: `node test/bench/groups.ts [rounds]`.
//
// A whole gateway without a TUN, on SQLite: 20 groups with 500 rules each, and 1,000 users with a
// device each, who are in 15 of them. Then all of them come to one more group, by one request, and
// leave it again. The answer says that the change is in force. The bar of docs/packets.md: 250 ms.

import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeKeyPair } from '../support/network/wireguard-client.ts';
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

const place = {
  url: `sqlite:${join(folder, 'data', 'postern.sqlite')}`,
  encryptionKey: randomBytes(32),
};
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
