// The wall clock of a gateway that serves jumps by an hour, forward, back, and back again (with
// libfaketime, which changes neither the monotonic clocks nor this machine). No datagram is lost.
// New handshakes are made, also those that the gateway initiates after a restart in its own past.
// What has an end ends and comes back with the clock, statuses show the present, and administrators
// stay signed in to the console.

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { connectDatabase, type Database, writeTransaction } from '../../models/index.ts';
import { enrol, type Person } from '../e2e/people.ts';
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
import { atGateway, PASSWORD, Visitor } from '../support/web/visitor.ts';
import { API_ADDRESS, API_NETWORK } from './lengths.ts';
import { temporaryFolder } from '../support/suite/temporary-folder.ts';

const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';
const HOUR_S = 3_600;
const BOSS = 'boss@example.test';
const EVERY_MS = 10;
const PORT = 7_430;
/** libfaketime reads its file once a second, and the gateway its clock too. */
const STEPPED_MS = 3_000;

/** The clock of one process, which tests can step. */
class SteppedClock {
  readonly #file = join(temporaryFolder('postern-clock-'), 'offset');
  #offsetS = 0;

  constructor() {
    this.step(0);
  }

  get environment(): Record<string, string> {
    return {
      LD_PRELOAD: FAKETIME,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
  }

  step(bySeconds: number): void {
    this.#offsetS += bySeconds;
    const text = `${this.#offsetS < 0 ? '-' : '+'}${Math.abs(this.#offsetS)}s`;
    writeFileSync(`${this.#file}.new`, `${text}\n`);
    renameSync(`${this.#file}.new`, this.#file);
  }

  /** Unix time in ms as the process sees it. */
  now(): number {
    return Date.now() + this.#offsetS * 1_000;
  }
}

/** The difference between the latest handshake in the API and the present of the gateway. */
async function handshakeAgeMs(
  postern: Postern,
  { device }: Person,
  clock: SteppedClock,
): Promise<number> {
  const status = await postern.read('device', device.id);
  return clock.now() - Date.parse(String(status['latest_handshake']));
}

/** A jump while traffic goes on, and the handshakes and statuses after it. */
async function steps(
  t: ExecutionContext,
  { topology, postern, alice, boss, clock }: World,
  bySeconds: number,
): Promise<void> {
  const far = await new Traffic(topology.lan, 'pace', PORT, EVERY_MS).ready();
  const near = await new Traffic(alice.client.host, 'pace', PORT, EVERY_MS, LAN4).ready();
  await sleep(1_000);
  clock.step(bySeconds);
  await sleep(STEPPED_MS);
  t.is((await postern.readiness()).status, 'ready');
  t.is((await postern.call('GET', '/v0/configuration')).status, 200, 'tokens open');
  t.is((await boss.get('/devices')).status, 200, 'a session of the console goes on');
  t.is((await new Visitor(atGateway(postern.api)).signIn(BOSS)).status, 303, 'and one begins');
  for (const { child } of [near, far]) child.stdin?.end();
  const [down, up] = await Promise.all(
    [near, far].map((end) => end.line((line) => 'received' in line)),
  );
  t.is(up?.['received'], down?.['sent'], `${bySeconds} s: no datagram of the device was lost`);
  t.is(down?.['received'], up?.['sent'], `${bySeconds} s: nor towards it`);
  // A handshake that the device begins.
  await alice.client.reconfigure({});
  await until('a new handshake', () => canPing(alice.client.host, LAN4, 1));
  await until('its time is known', async () => {
    const age = await handshakeAgeMs(postern, alice, clock);
    return age > -2_000 && age < 10_000;
  });
  // And one that the gateway initiates: devices accept only later timestamps than they have seen.
  await postern.stop();
  await postern.start();
  const begun = performance.now();
  await until('the lan answers', () => canPing(alice.client.host, LAN4, 1), 20_000);
  const backMs = performance.now() - begun;
  t.true(backMs < 5_000, `${bySeconds} s: through after a restart in ${backMs} ms`);
  t.log(`stepped by ${bySeconds} s; through after a restart in ${Math.round(backMs)} ms`);
}

interface World {
  readonly topology: Topology;
  readonly postern: Postern;
  readonly alice: Person;
  /** An administrator who signed in to the console before any jump. */
  readonly boss: Visitor;
  readonly clock: SteppedClock;
}

/** A device that ends in half an hour ends by a jump forward, and works after the jump back. */
async function endsAndComesBack(t: ExecutionContext, world: World, db: Database): Promise<void> {
  const { postern, alice, clock } = world;
  const id = alice.device.id;
  const setEnd = (expires_at: Date | null): Promise<unknown> =>
    writeTransaction(db, (transaction) =>
      db.models.Device.update({ expires_at }, { where: { id }, transaction }),
    );
  await setEnd(new Date(clock.now() + (HOUR_S / 2) * 1_000));
  await sleep(1_500);
  t.true(await canPing(alice.client.host, LAN4), 'its time has not come');
  clock.step(HOUR_S);
  await sleep(STEPPED_MS);
  t.false(await canPing(alice.client.host, LAN4), 'its time is over');
  clock.step(-HOUR_S);
  await sleep(STEPPED_MS);
  await until('it serves again', () => canPing(alice.client.host, LAN4, 1), 20_000);
  await setEnd(null);
  t.is((await postern.readiness()).status, 'ready');
}

test.serial(
  'a wall clock that jumps by an hour disturbs no device and no administrator',
  async (t) => {
    t.timeout(240_000);
    const topology = await buildTopology('oc', API_NETWORK);
    const clock = new SteppedClock();
    const folder = temporaryFolder('postern-data-');
    try {
      const settings = { ...WITHOUT_WARM_UP, DATA_DIR: folder, ...clock.environment };
      const postern = new Postern(topology.gateway, API_ADDRESS, settings);
      await postern.start();
      const alice = await enrol(postern, topology.alice, 'a@example.test', `${GATEWAY4}:51820`);
      t.true(await canPing(alice.client.host, LAN4));
      await sleep(1_500);
      const account = { email: BOSS, password: PASSWORD, password_confirmation: PASSWORD };
      await postern.create('user', { ...account, role: 'admin' });
      const boss = new Visitor(atGateway(postern.api));
      t.is((await boss.signIn(BOSS)).status, 303);
      const world = { topology, postern, alice, boss, clock };
      for (const hours of [1, -1, -1, 1]) await steps(t, world, hours * HOUR_S);
      const db = await connectDatabase({
        url: `sqlite:${join(folder, 'postern.sqlite')}`,
        encryptionKey: Buffer.from(readFileSync(join(folder, 'encryption.key'), 'utf8'), 'base64'),
      });
      await endsAndComesBack(t, world, db);
      await db.close();
      const loud = postern.logLines().filter(({ level }) => level === 'error');
      t.deepEqual(loud, []);
      await postern.stop();
    } finally {
      await topology.network.remove();
    }
  },
);
