// The database is away for a minute: it hangs (SIGSTOP), then it dies (SIGKILL) and comes back.
// Tunnels work on, the API answers 503 with Retry-After, readiness says why. Afterwards everything
// catches up by itself: what was written before, during and after, and the totals.

import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { enrol, type Person } from '../e2e/people.ts';
import { openRelay, urlThrough } from '../support/network/tcp-relay.ts';
import {
  launch,
  type Mariadb,
  runOnServer,
  startMariadb,
  stopMariadb,
} from '../support/database/mariadb.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  LAN4_OTHER,
  type Topology,
  Traffic,
} from '../support/network/topology.ts';
import { inspectDatabase, Ledger } from './ledger.ts';
import { API_ADDRESS, API_NETWORK, length, MACHINE, seed } from './lengths.ts';

const AWAY_MS = length(20_000, 60_000, 'OPS_AWAY_MS');
/**
 * How long a server may be silent before it counts as gone, and a statement that hangs as stuck.
 */
const NOTICED_MS = 13_000;
/** No request waits longer for a database that does not answer. */
const ANSWERED_MS = 35_000;
const EVERY_MS = 10;
const PORT = 7_410;

/** How a database goes away and comes back. */
interface Outage {
  readonly name: string;
  readonly begin: (mariadb: Mariadb) => void;
  readonly end: (mariadb: Mariadb) => Promise<Mariadb>;
}

const outages: readonly Outage[] = [
  {
    name: 'hangs',
    begin: ({ pid }) => process.kill(pid, 'SIGSTOP'),
    end: async (mariadb) => {
      process.kill(mariadb.pid, 'SIGCONT');
      return mariadb;
    },
  },
  {
    name: 'dies',
    begin: ({ pid }) => process.kill(pid, 'SIGKILL'),
    end: (mariadb) => launch(mariadb),
  },
];

/** Requests of all kinds, again and again while the database is away: which answers came. */
async function askMeanwhile(
  t: ExecutionContext,
  postern: Postern,
  untilMs: number,
): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  const ask = async (method: string, path: string, body?: unknown): Promise<void> => {
    while (performance.now() < untilMs) {
      const asked = performance.now();
      const { status, headers } = await postern.call(method, path, body);
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status === 503) t.is(headers.get('retry-after'), '5');
      t.true(performance.now() - asked < ANSWERED_MS, `${method} ${path} was answered in time`);
      await sleep(250);
    }
  };
  await Promise.all([
    ask('GET', '/v0/users'),
    ask('GET', '/v0/configuration'),
    ask('POST', '/v0/rules', { rule: { action: 'sideways', destination: '192.0.2.1' } }),
  ]);
  return statuses;
}

/** Received bytes, by the API, and sent bytes, by the client. */
async function missingBytes(postern: Postern, { device, client }: Person): Promise<number> {
  const rx = Number((await postern.read('device', device.id))['rx_bytes']);
  return (await client.transfer()).sent - rx;
}

async function outlives(
  t: ExecutionContext,
  { topology, postern, alice }: { topology: Topology; postern: Postern; alice: Person },
  { name, begin, end }: Outage,
  mariadb: Mariadb,
): Promise<Mariadb> {
  const far = await new Traffic(topology.lan, 'pace', PORT, EVERY_MS).ready();
  const near = await new Traffic(alice.client.host, 'pace', PORT, EVERY_MS, LAN4).ready();
  const ledger = new Ledger(t, postern, seed, 3, name);
  await ledger.notice();
  await sleep(2_000);
  const before = await missingBytes(postern, alice);
  const load = ledger.run({ persist: true });
  await sleep(1_000);

  begin(mariadb);
  const begun = performance.now();
  await until(
    'readiness says it',
    async () => {
      const { status, code } = await postern.readiness();
      return status === 'database_unavailable' && code === 503;
    },
    NOTICED_MS,
  );
  const noticedMs = performance.now() - begun;
  t.is((await fetch(`${postern.api}/healthz`)).status, 200, 'the process itself is well');
  const statuses = await askMeanwhile(t, postern, begun + AWAY_MS);
  t.true((statuses[503] ?? 0) > 0);
  t.is(statuses[500], undefined);
  t.is((await postern.readiness()).status, 'database_unavailable');

  const back = await end(mariadb);
  const ended = performance.now();
  await until('it is ready', async () => (await postern.readiness()).status === 'ready', 20_000);
  const readyMs = performance.now() - ended;
  const answered = ledger.figures.answered;
  await until('writers write again', () => ledger.figures.answered > answered + 20, 30_000);
  ledger.stop();
  await load;
  await ledger.verify(t);
  const rule = await postern.create('rule', { action: 'drop', destination: LAN4_OTHER });
  t.false(await canPing(alice.client.host, LAN4_OTHER), 'changes are in force at once');
  await postern.remove('rule', rule.id);
  // What was not written in between was kept, and is complete.
  await sleep(2_500);
  const after = await missingBytes(postern, alice);
  const slack = (3_000 / EVERY_MS) * 300;
  t.true(Math.abs(after - before) < slack, `${after - before} bytes are missing`);

  for (const { child } of [near, far]) child.stdin?.end();
  const [down, up] = await Promise.all(
    [near, far].map((traffic) => traffic.line((line) => 'received' in line)),
  );
  t.is(Number(up?.['received']), Number(down?.['sent']), 'no datagram of the device was lost');
  t.is(Number(down?.['received']), Number(up?.['sent']), 'and none towards it');
  t.log(
    `${name}: noticed after ${Math.round(noticedMs)} ms, ready ${Math.round(readyMs)} ms later`,
    {
      statuses,
      ...ledger.figures,
      lateness: { up: up?.['p99Ms'], down: down?.['p99Ms'] },
    },
  );
  return back;
}

test.serial(`a database that is away for ${AWAY_MS / 1_000} s stops no tunnel`, async (t) => {
  t.timeout(5 * 60_000 + 4 * AWAY_MS);
  let mariadb = await startMariadb();
  await runOnServer(mariadb.url, 'CREATE DATABASE gone');
  const topology = await buildTopology('og', API_NETWORK);
  const relay = await openRelay(MACHINE, Number(new URL(mariadb.url).port));
  const encryptionKey = randomBytes(32);
  try {
    const postern = new Postern(topology.gateway, API_ADDRESS, {
      ...WITHOUT_WARM_UP,
      API_RATE_LIMIT: '0',
      DATABASE_URL: urlThrough(mariadb.url, MACHINE, relay, 'gone'),
      DATABASE_ENCRYPTION_KEY: encryptionKey.toString('base64'),
    });
    await postern.start();
    const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
    t.true(await canPing(alice.client.host, LAN4));
    for (const outage of outages)
      mariadb = await outlives(t, { topology, postern, alice }, outage, mariadb);
    const errors = postern.logLines().filter((line) => line['level'] === 'error');
    t.deepEqual(
      [...new Set(errors.map((line) => line['msg']))],
      ['the data plane cannot follow the database; what was in force stays in force'],
    );
    await postern.stop();
    await inspectDatabase(t, { url: `${mariadb.url}gone`, encryptionKey });
  } finally {
    relay.close();
    await topology.network.remove();
    await stopMariadb(mariadb);
  }
});
