// Three gateways on a Galera cluster of three nodes, a node for each (several-gateways.ts says what
// they must do). Then a node is lost under a write load at all gateways: nothing that was answered
// is lost, the other two gateways go on writing, tunnels run on at all three, and what is left
// alone catches up when its node is back.

import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { startGalera, stopGalera } from '../support/database/galera.ts';
import { launch, type Mariadb, runOnServer } from '../support/database/mariadb.ts';
import { until } from '../support/gateway/postern.ts';
import { canPing } from '../support/network/topology.ts';
import { inspectDatabase, Ledger } from './ledger.ts';
import { length, seed } from './lengths.ts';
import {
  aClientMovesAndComesBack,
  allocationNeverCollides,
  anotherServesTheClient,
  changesAreInForceEverywhere,
  nothingWentWrong,
  startTogether,
  type World,
} from './several-gateways.ts';
import { buildSites, LAN } from './sites.ts';

/** How long a node is lost; the others notice after five seconds, and hold commits until then. */
const LOST_MS = length(15_000, 60_000);
/** Longer than anything here takes on a busy machine; the figures are in the log of the test. */
const LIMIT_MS = 60_000;
/** A busy machine may lose some. */
const PINGS = 10;

/** The last node dies under load, and comes back. Returns what it runs as then. */
async function aNodeIsLost(
  t: ExecutionContext,
  { sites, people }: World,
  node: Mariadb,
): Promise<Mariadb> {
  const ledgers = sites.sites.map(
    ({ postern, number }) => new Ledger(t, postern, seed + number, 2, `g${number}w`),
  );
  // What each finds that is not its own: the others' records come and go meanwhile.
  const load = Promise.all(ledgers.map((ledger) => ledger.run({ persist: true, pauseMs: 20 })));
  // It is awaited below; until then only its test fails, not the process.
  load.catch(() => undefined);
  await sleep(3_000);
  const alone = sites.sites.at(-1)!;
  process.kill(node.pid, 'SIGKILL');
  const begun = performance.now();
  const others = ledgers.slice(0, -1);
  await until(
    'its gateway says so',
    async () => (await alone.postern.readiness()).status === 'database_unavailable',
    LIMIT_MS,
  );
  const answered = others.map(({ figures }) => figures.answered);
  await until(
    'the other gateways go on writing',
    () => others.every(({ figures }, i) => figures.answered > answered[i]! + 20),
    LIMIT_MS,
  );
  const goOnMs = performance.now() - begun;
  t.true(
    await canPing(people.at(-1)!.client.host, LAN, PINGS),
    'the tunnels of the lonely one run on',
  );
  await sleep(Math.max(0, LOST_MS - (performance.now() - begun)));

  const launchedAt = performance.now();
  const back = await launch(node);
  const upMs = performance.now() - launchedAt;
  await until(
    'its gateway is ready',
    async () => (await alone.postern.readiness()).status === 'ready',
    LIMIT_MS,
  );
  const readyMs = performance.now() - launchedAt;
  const lonely = ledgers.at(-1)!;
  const before = lonely.figures.answered;
  await until('and writes', () => lonely.figures.answered > before + 10, LIMIT_MS);
  const writesMs = performance.now() - launchedAt;
  for (const ledger of ledgers) ledger.stop();
  await load;
  await sleep(500);
  for (const ledger of ledgers) {
    // Read through another gateway than wrote, so through another node.
    ledger.postern = sites.sites[0]!.postern;
    await ledger.verify(t);
  }
  t.log(
    `a node lost for ${Math.round(LOST_MS / 1_000)} s: the others wrote on ${Math.round(goOnMs)} ms later`,
    {
      seed,
      // Since the node was started again: it serves, its gateway is ready, and has written.
      back: [upMs, readyMs, writesMs].map(Math.round),
      figures: ledgers.map(({ figures }) => figures),
    },
  );
  return back;
}

/**
 * Two nodes of three die: the last one must not write, or there would be two truths. Its gateway
 * says that its database is away, and serves on; with the others back it goes on by itself.
 */
async function theMajorityIsLost(
  t: ExecutionContext,
  { sites, people }: World,
  nodes: Mariadb[],
): Promise<void> {
  const last = sites.sites[0]!.postern;
  for (const { pid } of nodes.slice(1)) process.kill(pid, 'SIGKILL');
  await until(
    'it says so',
    async () => (await last.readiness()).status === 'database_unavailable',
    LIMIT_MS,
  );
  const statuses = new Set<number>();
  for (let i = 0; i < 40; i += 1) {
    const rule = { action: 'drop', destination: `203.0.113.${100 + i}` };
    statuses.add((await last.call('POST', '/v0/rules', { rule })).status);
    statuses.add((await last.call('GET', '/v0/rules')).status);
    await sleep(250);
  }
  t.deepEqual([...statuses], [503]);
  t.true(await canPing(people[0]!.client.host, LAN, PINGS), 'tunnels run on');
  // Whoever knows that the others are gone, and not only far away, lets this one go on alone.
  const bootstrap = "SET GLOBAL wsrep_provider_options='pc.bootstrap=YES'";
  await runOnServer(nodes[0]!.url, bootstrap);
  for (const i of [1, 2]) nodes[i] = await launch(nodes[i]!);
  for (const { postern } of sites.sites)
    await until('ready', async () => (await postern.readiness()).status === 'ready', LIMIT_MS);
  await last.create('rule', { action: 'drop', destination: '203.0.113.250' });
}

test.serial('three gateways on a Galera cluster are as one, and outlive a node', async (t) => {
  t.timeout(length(8, 15) * 60_000);
  const nodes = await startGalera();
  const encryptionKey = randomBytes(32);
  await runOnServer(nodes[0]!.url, 'CREATE DATABASE several');
  const sites = await buildSites({
    prefix: 'oy',
    server: (number) => nodes[number - 1]!.url,
    database: 'several',
    settings: { DATABASE_ENCRYPTION_KEY: encryptionKey.toString('base64') },
  });
  try {
    const world = await startTogether(t, sites);
    await changesAreInForceEverywhere(t, world, length(6, 50, 'OPS_CHANGES'));
    await allocationNeverCollides(t, world, 40);
    const [first, second] = sites.sites;
    await anotherServesTheClient(t, world, [first!, second!]);
    await aClientMovesAndComesBack(t, world, [first!, second!]);
    nothingWentWrong(t, world);
    nodes[2] = await aNodeIsLost(t, world, nodes[2]!);
    await theMajorityIsLost(t, world, nodes);
    await Promise.all(sites.sites.map(({ postern }) => postern.stop()));
    for (const { url } of nodes) await inspectDatabase(t, { url: `${url}several`, encryptionKey });
  } finally {
    await sites.remove();
    await stopGalera(nodes);
  }
});
