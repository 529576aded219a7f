// The loop of the worker over links that fail (docs/packets.md#failures-of-the-kernel): failures
// are counted and reported once, and there is never a crash or an endless loop. Files that are no
// TUN and no socket replace the kernel. gateway.test.ts shows that the worker serves.

import { createSocket } from 'node:dgram';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import { createActivity } from '../../../dataplane/worker/activity.ts';
import { ALONE } from '../../../dataplane/contract.ts';
import { derivePublicKey } from '../../../dataplane/index.ts';
import type { Command, Report, WorkerOptions } from '../../../dataplane/worker/worker.ts';
import { addon } from '../../support/dataplane/native.ts';
import { nativeTest } from '../../support/dataplane/native-test.ts';
import { counting } from '../../support/dataplane/packets.ts';

/** Reading gives EIO, and it is always ready to be read; a TUN could do so too. */
const ALWAYS_FAILS = '/proc/self/mem';
/** Reading gives nothing at all. */
const AT_ITS_END = '/dev/null';
/** The least time between two tries of what failed. */
const MS_PER_TRY = 5;

const engines = addon === null ? (['typescript'] as const) : (['typescript', 'native'] as const);

/** What a test opens for the worker; everything else is as usual. */
interface Links {
  readonly engine: 'native' | 'typescript';
  readonly tun?: number;
  readonly udp4?: number;
  /** Whether the test itself sends the command `begin`. */
  readonly waits?: boolean;
  /** Another program than that of the worker. */
  readonly program?: string;
}

/** A worker, and the reports that it sent. */
class Bench {
  readonly reports: Report[] = [];
  readonly openedAt = performance.now();
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #wake: number;
  #samples = 0;

  constructor(links: Links, udp4: number, wake: number) {
    const { port1, port2 } = new MessageChannel();
    const privateKey = counting(32, 11);
    const options: WorkerOptions = {
      team: ALONE,
      engine: links.engine,
      identity: { privateKey, publicKey: derivePublicKey(privateKey) },
      timestampFloorMs: 0,
      ipv4: null,
      ipv6: null,
      defaultAction: 'accept',
      allowsMetadata: false,
      mtu: 1_420,
      udp4,
      udp6: -1,
      wake,
      tun: links.tun ?? -1,
      hostSockets: null,
      tunTakesUdp: false,
      joinsForTun: false,
      listenPort:
        addon === null || links.udp4 !== undefined || udp4 < 0 ? 0 : addon.boundPort(udp4),
      flowLog: null,
      activity: createActivity(),
      port: port2,
    };
    const program = new URL(
      links.program ?? '../../../dataplane/worker/worker.ts',
      import.meta.url,
    );
    this.#worker = new Worker(program);
    this.#worker.postMessage(options, [port2]);
    this.#port = port1;
    this.#wake = wake;
    port1.on('message', (report: Report) => this.reports.push(report));
    this.#worker.on('error', ({ message }) => this.reports.push({ type: 'failed', message }));
  }

  tell(command: Command): void {
    this.#port.postMessage(command);
    if (this.#wake >= 0) addon!.wake(this.#wake);
    else this.#worker.postMessage(null);
  }

  /** Waits for a report that matches; null if none comes. */
  async report<T extends Report>(isWanted: (report: Report) => report is T): Promise<T | null> {
    for (let tries = 0; tries < 2_000; tries++) {
      const found = this.reports.find((one) => isWanted(one));
      if (found !== undefined) return found as T;
      await pause(5);
    }
    return null;
  }

  /** What was refused until now; null if nobody answers. */
  async drops(): Promise<Readonly<Record<string, number>> | null> {
    const id = ++this.#samples;
    this.tell({ type: 'sample', id });
    const report = await this.report(
      (one): one is Extract<Report, { type: 'sample' }> => one.type === 'sample' && one.id === id,
    );
    return report === null ? null : report.sample.drops;
  }

  get elapsedMs(): number {
    return performance.now() - this.openedAt;
  }

  count(type: Report['type']): number {
    return this.reports.filter((report) => report.type === type).length;
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}

/** Opens a file for the time of a test. */
function openFor(t: ExecutionContext, path: string): number {
  const fd = openSync(path, 'r');
  t.teardown(() => closeSync(fd));
  return fd;
}

/** Starts a worker and waits until it serves; it ends before its descriptors are closed. */
async function start(t: ExecutionContext, links: Links): Promise<{ bench: Bench; port: number }> {
  const native = links.engine === 'native' ? addon : null;
  const udp4 = links.udp4 ?? native?.openUdp(false, 0) ?? -1;
  const wake = native?.openWake() ?? -1;
  const bench = new Bench(links, udp4, wake);
  t.teardown(async () => {
    await bench.stop();
    for (const fd of [udp4, wake]) if (fd >= 0 && fd !== links.udp4) native?.closeFd(fd);
  });
  const ready = await bench.report(
    (one): one is Extract<Report, { type: 'ready' }> => one.type === 'ready',
  );
  if (ready === null)
    throw new Error(`the worker does not begin: ${JSON.stringify(bench.reports)}`);
  if (links.waits !== true) bench.tell({ type: 'begin' });
  return { bench, port: ready.listenPort };
}

/** Sends datagrams that are no messages until so many were refused for a reason, or time is up. */
async function refuse(
  bench: Bench,
  port: number,
  reason: string,
  wanted: number,
): Promise<Readonly<Record<string, number>> | null> {
  const socket = createSocket('udp4');
  try {
    for (let tries = 0; ; tries++) {
      const drops = await bench.drops();
      if (drops === null || (drops[reason] ?? 0) >= wanted || tries === 1_000) return drops;
      socket.send(counting(9), port, '127.0.0.1');
      await pause(2);
    }
  } finally {
    socket.close();
  }
}

/** How often something was tried, after time enough for many tries, but in any case for two. */
async function triesOf(bench: Bench, reason: string): Promise<number> {
  await pause(300);
  for (let waits = 0; ; waits++) {
    const drops = await bench.drops();
    const tries = drops?.[reason] ?? 0;
    if (drops === null || tries > 1 || waits === 50) return tries;
    await pause(100);
  }
}

for (const engine of engines) {
  const title = (text: string): string => `${engine}: ${text}`;

  test(
    title('a TUN that goes on failing is counted, tried now and then, and stops no datagram'),
    async (t) => {
      const { bench, port } = await start(t, { engine, tun: openFor(t, ALWAYS_FAILS) });
      const drops = await refuse(bench, port, 'malformed_message', 3);
      t.true((drops?.['malformed_message'] ?? 0) >= 3, 'it serves');
      const tries = await triesOf(bench, 'tun_read_failed');
      t.true(tries > 1, 'it is tried again');
      t.true(tries <= bench.elapsedMs / MS_PER_TRY, `${tries} tries in ${bench.elapsedMs} ms`);
      t.is(bench.count('tunGone'), 0);
      t.is(bench.count('failed') + bench.count('error'), 0);
    },
  );

  // docs/bugs-of-others.md#bug-15: TUN gone.
  test(
    title('a TUN that has vanished is counted and reported once, and datagrams go on'),
    async (t) => {
      const { bench, port } = await start(t, { engine, tun: openFor(t, AT_ITS_END) });
      await pause(300);
      const drops = await refuse(bench, port, 'malformed_message', 3);
      t.true((drops?.['malformed_message'] ?? 0) >= 3, 'it serves');
      t.is(bench.count('tunGone'), 1);
      t.is(drops?.['tun_read_failed'], 1);
      t.deepEqual(Object.keys(drops ?? {}).sort(), ['malformed_message', 'tun_read_failed']);
      t.is(bench.count('failed') + bench.count('error'), 0);
    },
  );

  test(
    title('an exception in the packet path is counted, logged once a second, and ends nothing'),
    async (t) => {
      const program = '../../support/dataplane/failing-worker.ts';
      const { bench, port } = await start(t, { engine, program });
      const began = performance.now();
      const drops = await refuse(bench, port, 'internal_error', 40);
      t.true((drops?.['internal_error'] ?? 0) >= 40);
      const seconds = 1 + Math.floor((performance.now() - began) / 1_000);
      const errors = bench.count('error');
      t.true(errors >= 1 && errors <= seconds, `${errors} lines in ${seconds} s`);
      t.is(bench.count('failed'), 0);
    },
  );
}

for (const engine of engines) {
  test(`${engine}: between two commands the links are checked`, async (t) => {
    const program = '../../support/dataplane/one-command-worker.ts';
    const { bench, port } = await start(t, { engine, program });
    for (let i = 0; i < 100; i++) bench.tell({ type: 'release', heardElsewhere: new Map() });
    t.deepEqual(await bench.drops(), {});
    t.truthy(await refuse(bench, port, 'malformed_message', 1), 'it serves');
    t.is(bench.count('failed') + bench.count('error'), 0);
  });
}

for (const engine of engines) {
  test(`${engine}: packets that come before the command "begin" wait`, async (t) => {
    const { bench, port } = await start(t, { engine, waits: true });
    const socket = createSocket('udp4');
    t.teardown(() => socket.close());
    for (let i = 0; i < 20; i++) socket.send(counting(9), port, '127.0.0.1');
    await pause(100);
    t.deepEqual(await bench.drops(), {}, 'commands are taken, packets are not');
    bench.tell({ type: 'begin' });
    let refused = 0;
    for (let tries = 0; tries < 100 && refused < 20; tries++)
      refused += (await bench.drops())?.['malformed_message'] ?? 0;
    // Other tests on this machine may send to a port that was theirs before.
    t.true(refused >= 20, `${refused}`);
  });
}

nativeTest('a socket that goes on failing is counted, and tried now and then', async (t) => {
  const { bench } = await start(t, { engine: 'native', udp4: openFor(t, ALWAYS_FAILS) });
  const tries = await triesOf(bench, 'udp_receive_failed');
  t.true(tries > 1, 'it is tried again');
  t.true(tries <= bench.elapsedMs / MS_PER_TRY, `${tries} tries in ${bench.elapsedMs} ms`);
  t.is(bench.count('failed') + bench.count('error'), 0);
});
