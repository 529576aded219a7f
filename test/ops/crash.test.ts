// A gateway is killed (SIGKILL) at random moments of a write load. After each restart every
// answered write exists, the others are whole or absent, and the totals of a device with traffic
// are at most a sampling interval behind. Some kills hit the start itself, even the very first one.

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { enrol, type Person } from '../e2e/people.ts';
import { Chance } from '../fuzz/mutate.ts';
import { openRelay, urlThrough } from '../support/network/tcp-relay.ts';
import { runOnServer, startMariadb, stopMariadb } from '../support/database/mariadb.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import {
  buildTopology,
  canPing,
  GATEWAY4,
  LAN4,
  type Topology,
  Traffic,
} from '../support/network/topology.ts';
import { inspectDatabase, Ledger } from './ledger.ts';
import { API_ADDRESS, API_NETWORK, length, MACHINE, seed } from './lengths.ts';
import { temporaryFolder } from '../support/suite/temporary-folder.ts';

const KILLS = length(4, 200, 'OPS_KILLS');
/** So many writes each kill finds on their way: a start costs more than any number of them. */
const WRITERS = 14;
/** Writes that are answered before each kill, however slow the machine is. */
const LOAD_WRITES_MIN = 6;
/** The longest time that the load then goes on before the kill. */
const LOAD_MS_MAX = 700;
/** One of so many kills hits a start that is not ready yet, */
const START_EVERY = length(3, 5);
/** and one follows some seconds of traffic, whose totals are checked. */
const TOTALS_EVERY = length(4, 7);
const TOTALS_MS = 4_000;
/** Less than that is no traffic: a busy machine needs longer for it. */
const TOTALS_BYTES_MIN = 20_000;
/** After a kill during a migration others have to wait so long before they migrate. */
const LEASE_MS = 30_000;
/** A sample a second, and the writing of it. */
const SAMPLED_MS = 2_000;
const PORT = 7_400;

/** Where the database of one run is, for the gateway and for the test. */
interface Place {
  readonly settings: Record<string, string>;
  readonly inspect: (postern: Postern) => { url: string; encryptionKey: Buffer };
}

/** What a client sent, what the API says that the gateway received of it, and when. */
interface Reading {
  readonly sent: number;
  readonly counted: number;
  readonly at: number;
}

async function readBytes(postern: Postern, person: Person): Promise<Reading> {
  const counted = Number((await postern.read('device', person.device.id))['rx_bytes']);
  return { counted, sent: (await person.client.transfer()).sent, at: performance.now() };
}

/**
 * Two readings around the moment at which a sample was taken. A sample is taken after the one before
 * it was written. So the second of two samples is younger than the last reading that saw neither,
 * and as old as the first reading that has it.
 */
async function readAroundSample(
  postern: Postern,
  person: Person,
): Promise<{ earliest: Reading; latest: Reading }> {
  let earliest = await readBytes(postern, person);
  let latest = earliest;
  const oneMore = async (): Promise<boolean> => {
    const old = latest;
    latest = await readBytes(postern, person);
    return latest.counted > old.counted;
  };
  await until('a sample is written', async () => {
    earliest = latest;
    return await oneMore();
  });
  await until('another sample is written', oneMore);
  return { earliest, latest };
}

/**
 * A gateway initiates handshakes with the devices that it saw; one that was killed before its first
 * look knows of none, and waits for the client, which tries again after 15 seconds.
 */
async function throughAgain({ client }: Person): Promise<void> {
  await until('the lan answers', () => canPing(client.host, LAN4, 1), 25_000);
}

/** Kills a gateway some seconds after a device began to send, and checks the totals afterwards. */
async function killAndCompareTotals(
  t: ExecutionContext,
  postern: Postern,
  person: Person,
  beacon: Traffic,
): Promise<void> {
  await throughAgain(person);
  const { earliest, latest } = await readAroundSample(postern, person);
  await sleep(TOTALS_MS);
  let sent = 0;
  await until('there is traffic', async () => {
    ({ sent } = await person.client.transfer());
    return sent - latest.sent >= TOTALS_BYTES_MIN;
  });
  await postern.kill();
  const rate = (sent - latest.sent) / (performance.now() - latest.at);
  // What came after the restart is not to hide what the kill lost.
  beacon.pause();
  await postern.start();
  const more = (await readBytes(postern, person)).counted - latest.counted;
  beacon.resume();
  const missing = sent - latest.sent - more;
  // A busy machine writes its samples later.
  const late = Math.max(SAMPLED_MS, latest.at - earliest.at);
  t.true(missing < rate * late, `${missing} bytes are missing at ${rate} bytes/ms`);
  t.true(more <= sent - earliest.sent, `${more} bytes of ${sent - earliest.sent} were counted`);
}

async function killAgainAndAgain(
  t: ExecutionContext,
  topology: Topology,
  place: Place,
): Promise<void> {
  const chance = new Chance(seed);
  const settings = {
    ...WITHOUT_WARM_UP,
    API_RATE_LIMIT: '0',
    LOG_LEVEL: 'info',
    ...place.settings,
  };
  const postern = new Postern(topology.gateway, API_ADDRESS, settings);
  // The very first start, on nothing: migrations, keys, the administrator.
  for (const ms of [400, 700, 900, 1_100]) {
    postern.launch();
    await sleep(ms + chance.below(200));
    await postern.kill();
  }
  await postern.start(LEASE_MS + 20_000);
  const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
  const sink = await new Traffic(topology.lan, 'watch', PORT, LAN4).ready();
  const beacon = new Traffic(alice.client.host, 'beacon', PORT, 10, LAN4);
  const ledger = new Ledger(t, postern, seed, WRITERS);
  await ledger.notice();
  const kills = { underLoad: 0, atStart: 4, inTraffic: 0 };
  for (let kill = 1; kill <= KILLS; kill += 1) {
    if (kill % TOTALS_EVERY === 0) {
      await killAndCompareTotals(t, postern, alice, beacon);
      kills.inTraffic += 1;
    }
    const answeredBefore = ledger.figures.answered;
    const load = ledger.run();
    await until(
      'writes are answered',
      () => ledger.figures.answered - answeredBefore >= LOAD_WRITES_MIN,
    );
    await sleep(chance.below(LOAD_MS_MAX));
    await postern.kill();
    await load;
    kills.underLoad += 1;
    if (kill % START_EVERY === 0) {
      postern.launch();
      await sleep(chance.below(900));
      await postern.kill();
      kills.atStart += 1;
    }
    await postern.start();
    await ledger.verify(t);
    if (kill % 20 === 0) postern.output = postern.output.slice(-100_000);
  }
  t.log({ seed, kills, ...ledger.figures });
  t.true(ledger.figures.answered > KILLS * 5, 'there was a load');
  t.true(ledger.figures.unanswered > 0, 'kills hit writes');
  await throughAgain(alice);
  await beacon.stop();
  await sink.stop();
  await postern.stop();
  await inspectDatabase(t, place.inspect(postern));
}

async function inTopology(run: (topology: Topology) => Promise<void>): Promise<void> {
  const topology = await buildTopology('ok', API_NETWORK);
  try {
    await run(topology);
  } finally {
    await topology.network.remove();
  }
}

const TIMEOUT_MS = length(240_000, 40 * 60_000);

test.serial(`sqlite: no answered write is lost in ${KILLS} kills`, async (t) => {
  t.timeout(TIMEOUT_MS);
  const folder = temporaryFolder('postern-data-');
  await inTopology((topology) =>
    killAgainAndAgain(t, topology, {
      settings: { DATA_DIR: folder },
      inspect: () => ({
        url: `sqlite:${join(folder, 'postern.sqlite')}`,
        encryptionKey: Buffer.from(readFileSync(join(folder, 'encryption.key'), 'utf8'), 'base64'),
      }),
    }),
  );
});

test.serial(`mariadb: no answered write is lost in ${KILLS} kills`, async (t) => {
  t.timeout(TIMEOUT_MS);
  const mariadb = await startMariadb();
  t.teardown(() => stopMariadb(mariadb));
  await runOnServer(mariadb.url, 'CREATE DATABASE crash');
  const encryptionKey = randomBytes(32);
  await inTopology(async (topology) => {
    const relay = await openRelay(MACHINE, Number(new URL(mariadb.url).port));
    await killAgainAndAgain(t, topology, {
      settings: {
        DATABASE_URL: urlThrough(mariadb.url, MACHINE, relay, 'crash'),
        DATABASE_ENCRYPTION_KEY: encryptionKey.toString('base64'),
      },
      inspect: () => ({ url: `${mariadb.url}crash`, encryptionKey }),
    });
    relay.close();
  });
});
