// A worker that fails: it is started again on the same port, with all that is in force, and what was
// asked of it meanwhile is answered.

import { spawn } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import { createActivity } from '../../../dataplane/worker/activity.ts';
import { MAX_RELEASED_PER_COMMAND, MAX_REPORTED_PER_PART } from '../../../dataplane/constants.ts';
import { ALONE } from '../../../dataplane/contract.ts';
import { derivePublicKey, type PeerConfig } from '../../../dataplane/index.ts';
import { type LinkOwner, WorkerLink } from '../../../dataplane/gateway/worker-link.ts';
import type { Report } from '../../../dataplane/worker/worker.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { counting, udp } from '../../support/dataplane/packets.ts';
import { peer, randomBytes, seededRandom } from '../../support/dataplane/simulation.ts';
import {
  Device,
  canPing,
  config,
  configOf,
  engines,
  gatewayTests,
  open,
  pause,
  until,
} from '../../support/dataplane/loopback-gateway.ts';

/** Devices that were heard lately, and answer nothing. */
class SilentDevices {
  readonly peers: readonly PeerConfig[];
  #calls = 0;

  private constructor(socket: Socket, count: number) {
    const random = seededRandom(count);
    const endpoint = { address: '127.0.0.1', port: socket.address().port };
    this.peers = Array.from({ length: count }, () => {
      const key = Buffer.from(randomBytes(random, 32)).toString('base64');
      return peer({ key, endpoint, heardAtMs: Date.now() });
    });
    socket.on('message', () => this.#calls++);
  }

  static async open(t: ExecutionContext, count: number): Promise<SilentDevices> {
    const socket = createSocket('udp4');
    t.teardown(() => socket.close());
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new SilentDevices(socket, count);
  }

  /** Waits until each was sent an initiation. */
  async wereCalled(): Promise<boolean> {
    await until(() => this.#calls === this.peers.length);
    return this.#calls === this.peers.length;
  }
}

// ---- a worker that fails -------------------------------------------------------------------

for (const engine of engines) {
  const gatewayTest = gatewayTests(engine);

  gatewayTest(
    'a worker that fails is started again, on the same port, with the whole configuration',
    async (t, { gateway }) => {
      const { listenPort } = gateway.facts;
      await gateway.apply(config([configOf(2)]));
      t.true(await canPing(await Device.open(t, gateway, 2), 2));
      const poisoned = gateway.apply(config([configOf(2), poison])).catch(() => undefined);
      await pause(50);
      const good = gateway.apply(config([configOf(2), configOf(4)]));
      t.true(await settles(Promise.all([poisoned, good])), 'the changes are answered');
      t.true(gateway.facts.alive);
      t.is(gateway.facts.listenPort, listenPort);
      t.true(await canPing(await Device.open(t, gateway, 4), 4));
    },
  );

  gatewayTest('after a failure devices are found where they were heard last', async (t, bench) => {
    const { gateway } = bench;
    await gateway.apply(config([configOf(2)]));
    const device = await Device.open(t, gateway, 2);
    t.true(await canPing(device, 2));
    await gateway.sample();
    const before = device.client.peer.current;
    const poisoned = gateway.apply(config([configOf(2), poison])).catch(() => undefined);
    await pause(50);
    await gateway.apply(config([configOf(2)]));
    await poisoned;
    // Nobody sends anything: it is the gateway that comes to the device.
    await until(() => device.client.peer.current !== before, 3_000);
    t.not(device.client.peer.current, before);
    t.true(await canPing(device, 2));
  });

  gatewayTest('a device that is elsewhere is released, after a failure too', async (t, bench) => {
    const { gateway } = bench;
    await gateway.apply(config([configOf(2), configOf(3)]));
    const [mover, stayer] = [await Device.open(t, gateway, 2), await Device.open(t, gateway, 3)];
    t.true(await canPing(mover, 2));
    t.true(await canPing(stayer, 3));
    const { peers } = await gateway.sample();
    const before = mover.client.peer.current;
    const atFirst = stayer.client.peer.current;
    const handshakeOf = (number: number): number =>
      peers.find(({ publicKey }) => publicKey === configOf(number).publicKey)!.latestHandshakeMs!;
    const refused = async (): Promise<number> =>
      (await gateway.sample()).drops['peer_elsewhere'] ?? 0;
    const call = (): void => stayer.send(udp({ source: '10.0.0.3', destination: '10.0.0.2' }));
    /** Calls until it is refused. */
    const isRefused = async (): Promise<boolean> => {
      for (let i = 0; i < 100 && (await refused()) === 0; i++) {
        call();
        await pause(50);
      }
      return (await refused()) > 0;
    };
    gateway.release(
      new Map([
        [configOf(2).publicKey, handshakeOf(2) + 1],
        [configOf(3).publicKey, handshakeOf(3) - 1],
      ]),
    );
    t.true(await isRefused());
    t.deepEqual(
      [...gateway.peers()].map(({ endpoint }) => endpoint),
      [null, stayer.client.endpoint],
    );
    const poisoned = gateway.apply(config([configOf(2), configOf(3), poison])).catch(() => null);
    await pause(50);
    await gateway.apply(config([configOf(2), configOf(3)]));
    await poisoned;
    await until(() => stayer.client.peer.current !== atFirst, 3_000);
    t.true(await canPing(stayer, 3));
    t.true(await isRefused());
    t.is(mover.client.peer.current, before, 'nobody called it');
    t.deepEqual(mover.client.delivered, []);
    // Back, once its own handshake is no longer too soon after the last.
    await pause(5_100);
    mover.client.connect();
    await until(() => mover.client.peer.current !== before, 3_000);
    t.true(await canPing(mover, 2));
    const counted = await refused();
    call();
    t.is((await mover.receive(1)).length, 1);
    t.is(await refused(), counted);
  });

  gatewayTest('many devices that moved are one sample', async (t, { gateway }) => {
    const silent = await SilentDevices.open(t, MAX_REPORTED_PER_PART + 20);
    await gateway.apply(config(silent.peers));
    t.true(await silent.wereCalled());
    const [sample, next] = await Promise.all([gateway.sample(), gateway.sample()]);
    const sent = sample.peers.map(({ publicKey, txBytes }) => [publicKey, txBytes] as const);
    const expected = silent.peers.map(({ publicKey }) => [publicKey, 148] as const);
    t.deepEqual(Object.fromEntries(sent), Object.fromEntries(expected));
    t.is(sample.peers.length, silent.peers.length);
    t.deepEqual(next.peers, [], 'two at once tell nothing twice');
  });

  gatewayTest(
    'what a worker reported of a sample before it failed is not lost',
    async (t, bench) => {
      const { gateway } = bench;
      const first = MAX_REPORTED_PER_PART * gateway.facts.workers;
      const silent = await SilentDevices.open(t, first + 20);
      await gateway.apply(config(silent.peers));
      t.true(await silent.wereCalled());
      const sampled = gateway.sample();
      // The first part of each worker is asked for, and then comes what ends all workers.
      await Promise.resolve();
      const poisoned = gateway.apply(config([...silent.peers, poison])).catch(() => undefined);
      await gateway.apply(config(silent.peers));
      await poisoned;
      const { peers } = await sampled;
      t.is(peers.length, first);
      t.is([...gateway.peers()].filter(({ txBytes }) => txBytes > 0).length, first);
      t.true(await settles(gateway.sample()), 'samples are taken again');
    },
  );

  gatewayTest('many devices that are elsewhere are all released', async (t, { gateway }) => {
    const silent = await SilentDevices.open(t, MAX_RELEASED_PER_COMMAND + 20);
    await gateway.apply(config(silent.peers));
    t.true(await silent.wereCalled());
    gateway.release(new Map(silent.peers.map(({ publicKey }) => [publicKey, Date.now()])));
    const { peers } = await gateway.sample();
    t.is(peers.length, silent.peers.length);
    t.true(peers.every(({ endpoint }) => endpoint === null));
  });

  gatewayTest('a worker that goes on failing is started again and again', async (t, bench) => {
    const { gateway, log } = bench;
    void gateway.apply(config([poison])).catch(() => undefined);
    await until(() => log.filter((line) => line.includes('is started again')).length >= 3, 5_000);
    t.true(log.filter((line) => line.includes('is started again')).length >= 3);
    t.true(await settles(gateway.apply(config([configOf(2)]))), 'the change is answered');
    t.true(await canPing(await Device.open(t, gateway, 2), 2));
  });

  gatewayTest('why a worker failed is in the log', async (t, { gateway, log }) => {
    void gateway.apply(config([poison])).catch(() => undefined);
    await until(() => log.some((line) => line.includes('is started again')), 3_000);
    await pause(50);
    t.true(log.some((line) => line.startsWith('error worker 0 of the data plane failed')));
  });
}

/** No configuration can be wrong like this; it makes a worker throw where nothing may. */
const poison: PeerConfig = { ...configOf(3), ipv4: new Uint8Array(3) };

async function settles(promise: Promise<unknown>): Promise<boolean> {
  return Promise.race([promise.then(() => true), pause(4_000).then(() => false)]);
}

// ---- a link alone ----------------------------------------------------------------------------

const privateKey = counting(32, 11);

/** Owns links as a gateway does, and notes what they ask. */
class Owner implements LinkOwner {
  readonly logged: string[] = [];
  readonly initialized: WorkerLink[] = [];
  losses = 0;
  absences = 0;
  repairs = 0;
  /** Why `repair` fails; null: it does not. */
  error: string | null = null;

  readonly log: LinkOwner['log'] = (level, message) => void this.logged.push(`${level} ${message}`);

  wake(): boolean {
    return false;
  }

  workerOptions(): ReturnType<LinkOwner['workerOptions']> {
    return {
      team: ALONE,
      engine: 'typescript',
      identity: { privateKey, publicKey: derivePublicKey(privateKey) },
      timestampFloorMs: 0,
      ipv4: null,
      ipv6: null,
      defaultAction: 'accept',
      allowsMetadata: false,
      mtu: 1_420,
      udp4: -1,
      udp6: -1,
      wake: -1,
      tun: -1,
      hostSockets: null,
      tunTakesUdp: false,
      joinsForTun: false,
      listenPort: 0,
      flowLog: null,
      activity: createActivity(),
    };
  }

  async initialize(link: WorkerLink, listenPort: number): Promise<void> {
    this.initialized.push(link);
    if (listenPort === 0) throw new Error('no port');
    await Promise.resolve();
  }

  lost(): void {
    this.losses++;
  }

  away(): void {
    this.absences++;
  }

  repair(): void {
    this.repairs++;
    if (this.error !== null) throw new Error(this.error);
  }

  tunGone(): void {
    throw new Error('there is no TUN');
  }

  arrived(): void {
    throw new Error('there are no doors');
  }

  arrivals(): void {
    throw new Error('there are no peers');
  }
}

async function openLink(t: ExecutionContext, owner: Owner): Promise<WorkerLink> {
  const link = new WorkerLink(owner, 0);
  t.teardown(() => link.close(new Error('the test is over')));
  await link.start();
  return link;
}

const sample = (link: WorkerLink): Promise<Report | null> =>
  link.request((id) => ({ type: 'sample', id }));

test.serial(
  'two links run side by side; one that starts again does not hold up the other',
  async (t) => {
    const owner = new Owner();
    const [one, two] = [await openLink(t, owner), await openLink(t, owner)];
    await until(() => one.isWell && two.isWell);
    t.deepEqual([(await sample(one))?.type, (await sample(two))?.type], ['sample', 'sample']);
    one.restart();
    await until(() => !one.isReady);
    t.false(one.isWell);
    const asked = sample(one);
    t.is((await sample(two))?.type, 'sample');
    t.is(await asked, null, 'answered once the next worker is initialized');
    t.is((await sample(one))?.type, 'sample');
    t.deepEqual(owner.initialized, [one, two, one]);
    t.is(owner.losses, 1);
    t.is(owner.repairs, 1);
    t.true(one.isWell && two.isWell);
    await pause(1_000);
    t.is(owner.absences, 0, 'it was back soon');
  },
);

test.serial('what a worker counted before it failed in a sample counts once', async (t) => {
  const program = '../../support/gateway/short-sample-worker.ts';
  const early = new Worker(new URL(program, import.meta.url));
  // A gateway whose worker has ended keeps no process alive.
  const alive = setInterval(() => undefined, 100);
  t.teardown(() => clearInterval(alive));
  const { gateway } = await open(t, { workers: 1 }, [early]);
  const count = async (): Promise<number> => (await gateway.sample()).drops['internal_error'] ?? 0;
  t.is(await count(), 1);
  t.is(await count(), 2, 'it has failed after the first part');
  await until(() => gateway.facts.alive);
  t.is(await count(), 2, 'the next worker has counted nothing');
});

test.serial('what cannot be made again is tried again, and logged once', async (t) => {
  const owner = new Owner();
  const link = await openLink(t, owner);
  owner.error = 'no TUN';
  link.restart();
  await until(() => owner.repairs === 2);
  const errors = owner.logged.filter((line) => line.includes('could not be started again: no TUN'));
  t.is(errors.length, 1);
  t.is(owner.absences, 1);
  owner.error = null;
  await until(() => link.isWell);
  t.is(owner.logged.at(-1), 'info worker 0 of the data plane serves again');
});

test.serial('a link that is closed rejects what waits, and starts no other worker', async (t) => {
  const owner = new Owner();
  const link = await openLink(t, owner);
  link.restart();
  await until(() => !link.isReady);
  const asked = sample(link);
  await link.close(new Error('the end'));
  await t.throwsAsync(asked, { message: 'the end' });
  await pause(300);
  t.false(link.isReady);
  t.is(owner.repairs, 0);
});

for (const how of ['exit', 'throw'])
  nativeTest(`a process that ends without a stop does not wait for workers: ${how}`, async (t) => {
    const tries: number[] = [];
    // A worker that nobody wakes waits up to two seconds.
    while (tries.length < 3 && tries.every((ms) => ms > 600)) tries.push(await msOfEnd(how));
    t.true(tries.at(-1)! <= 600, `${tries.join(', ')} ms`);
  });

/** How long a process with idle workers takes to end. */
async function msOfEnd(how: string): Promise<number> {
  const file = join(import.meta.dirname, '../../support/gateway/ending-process.ts');
  const child = spawn(process.execPath, [file, how], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [printed] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return Date.now() - Number(printed);
}
