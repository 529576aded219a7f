// What becomes of flows on its way to the main thread: each beginning, end and refusal is there once
// with its counts, in order; what finds no room, and what one device has too much of, is counted;
// a worker that starts again goes on; nothing is allocated.

import test from 'ava';
import {
  FLOW_LOG_HEADER_BYTES,
  FLOW_LOG_RECORDS,
  FLOW_LOG_RECORDS_PER_DEVICE,
} from '../../../dataplane/constants.ts';
import {
  createFlowLogRing,
  FlowLog,
  FlowLogReader,
  FlowLogWriter,
  type LoggedFlow,
} from '../../../dataplane/rings/flow-log-ring.ts';
import {
  deciders,
  type EndReason,
  endReasons,
  type FlowEnd,
} from '../../../dataplane/filter/ended-flows.ts';
import { coursesOf } from '../../support/filter/courses.ts';
import { Pair } from '../../support/filter/pair.ts';
import {
  Bench,
  connection,
  device,
  dropAll,
  exchange,
  host,
  other,
  SECOND,
  SYN,
} from '../../support/filter/tracking.ts';
import { udp, viewOf } from '../../support/dataplane/packets.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';

const WALL = 1_000_000;

/** A bench whose flows are logged, and the reader of its ring. */
function logged(bench: Bench): { writer: FlowLogWriter; reader: FlowLogReader } {
  const ring = createFlowLogRing();
  const { flows, counts, ends } = bench.tracker;
  const writer = new FlowLogWriter(ring, { flows, counts, keyOf: (slot) => `key ${slot}` });
  writer.begin(bench.now, bench.now + WALL);
  ends.log = writer;
  return { writer, reader: new FlowLogReader(ring) };
}

function allOf(reader: Pick<FlowLogReader, 'take'>): LoggedFlow[] {
  const all: LoggedFlow[] = [];
  for (let one = reader.take(); one !== null; one = reader.take()) all.push(one);
  return all;
}

test('a flow is there when it opens and when it ends, with all that is known', (t) => {
  const bench = new Bench();
  const { writer, reader } = logged(bench);
  t.is(reader.take(), null);
  const { ask, answer } = exchange(device, host);
  bench.all(ask, answer, answer);
  const opened: LoggedFlow = {
    event: 'opened',
    version: 4,
    protocol: 17,
    source: Uint8Array.of(10, 0, 0, 2),
    destination: Uint8Array.of(192, 0, 2, 1),
    sourcePort: 40_000,
    destinationPort: 53,
    opener: '0',
    target: null,
    isAnswered: false,
    by: 'default',
    rule: null,
    because: null,
    reason: null,
    openedMs: 10_000 + WALL,
    latestMs: 10_000 + WALL,
    atMs: 10_000 + WALL,
    sentPackets: 0,
    sentBytes: 0,
    replyPackets: 0,
    replyBytes: 0,
  };
  t.deepEqual(allOf(reader), [opened]);
  bench.now += 180 * SECOND;
  writer.begin(bench.now, bench.now + WALL);
  bench.sweep();
  t.deepEqual(allOf(reader), [
    {
      ...opened,
      event: 'ended',
      because: 'idle',
      isAnswered: true,
      atMs: 190_000 + WALL,
      sentPackets: 1,
      sentBytes: ask.length,
      replyPackets: 2,
      replyBytes: 2 * answer.length,
    },
  ]);
});

test('the rule is the one that let it pass, or that ended it', (t) => {
  const bench = new Bench();
  const { reader } = logged(bench);
  bench.judge(connection(device, host).ask(SYN));
  bench.rules('0', ...dropAll);
  bench.sweep();
  const [opened, ended] = allOf(reader);
  t.like(opened, { event: 'opened', by: 'default', rule: null });
  t.like(ended, { event: 'ended', by: 'rule', rule: '4', because: 'refused' });
});

test('in any course what opened and did not end is what is alive', (t) => {
  let ends = 0;
  for (const [run, steps] of coursesOf(60).entries()) {
    const pair = new Pair(run % 2 === 0 ? 'accept' : 'drop');
    const { bench } = pair;
    const { writer, reader } = logged(bench);
    const open = new Map<string, number>();
    for (const [i, step] of steps.entries()) {
      if (step.type === 'restart') break;
      writer.begin(bench.now, bench.now + WALL);
      pair.take(step);
      bench.sweep();
      pair.slow.now = bench.now;
      pair.slow.sweep();
      for (const one of allOf(reader)) {
        const ports = [one.sourcePort, one.destinationPort, one.protocol];
        const key = [one.opener, one.target, one.source, one.destination, ports].join(' ');
        open.set(key, (open.get(key) ?? 0) + (one.event === 'opened' ? 1 : -1));
        if (one.event === 'ended') ends++;
      }
      const counts = [...open.values()];
      const where = `seed ${SEEDED.seed}, run ${run}, step ${i}`;
      t.true(
        counts.every((count) => count >= 0),
        where,
      );
      const alive = counts.reduce((a, b) => a + b, 0);
      t.is(alive, pair.slow.live().length, where);
    }
  }
  t.true(ends > 50, `${ends}`);
});

test('when the worker stops, every flow that is alive ends, as far as there is room', (t) => {
  let stopped = 0;
  for (const [run, steps] of coursesOf(40).entries()) {
    const pair = new Pair(run % 2 === 0 ? 'accept' : 'drop');
    const { bench } = pair;
    const { writer, reader } = logged(bench);
    const { ends } = bench.tracker;
    const isWhole = steps.every((step) => {
      if (step.type === 'restart') return false;
      writer.begin(bench.now, bench.now + WALL);
      pair.take(step);
      bench.sweep();
      return true;
    });
    pair.slow.now = bench.now;
    pair.slow.sweep();
    pair.slow.ended.length = 0;
    pair.slow.stop();
    allOf(reader);
    writer.begin(bench.now, bench.now + WALL);
    let calls = 1;
    while (!ends.stop(2)) calls++;
    const ended = allOf(reader);
    const where = `seed ${SEEDED.seed}, run ${run}`;
    const why = ended.map(({ event, because }) => `${event} ${because}`).toSorted();
    const twin = pair.slow.ended.map(({ because }) => `ended ${because}`).toSorted();
    if (isWhole) t.deepEqual(why, twin, where);
    stopped += why.filter((text) => text === 'ended gateway_stopped').length;
    t.true(calls >= ended.length / 2, where);
    t.is(bench.tracker.flows.live, 0, where);
    t.true(ends.stop(1), 'nothing is left');
  }
  t.true(stopped > 50, `${stopped}`);
});

// ---- the ring --------------------------------------------------------------------------------

function endOf(slot: number, because: EndReason = 'idle'): FlowEnd {
  const opener = { key: `key ${slot}`, scope: 'owner' };
  const by = deciders.indexOf('rule');
  const numbers = { slot, because: endReasons.indexOf(because), by };
  return { ...numbers, opener, target: null, rule: 'a rule', isAnswered: false };
}

/** Some writers of one ring, one after the other. */
function writerOf(ring: SharedArrayBuffer, now = 5_000): FlowLogWriter {
  const writer = new FlowLogWriter(ring, {
    flows: { get: () => (4 << 8) | 17 },
    counts: { copy: (_flow, to) => void to.fill(1) },
    keyOf: (slot) => `key ${slot}`,
  });
  writer.begin(now, now);
  return writer;
}

test('what finds no room is counted, and room that was given back is used', (t) => {
  const ring = createFlowLogRing();
  const writer = writerOf(ring);
  const reader = new FlowLogReader(ring);
  for (let i = 0; i < FLOW_LOG_RECORDS + 10; i++) writer.ended(1, endOf(i % 100));
  t.deepEqual(reader.lost, { full: 10, share: 0 });
  for (let i = 0; i < 7; i++) t.is(reader.take()!.opener, `key ${i}`);
  for (let i = 0; i < 9; i++) writer.ended(1, endOf(200));
  t.deepEqual(reader.lost, { full: 12, share: 0 });
  const rest = allOf(reader);
  t.is(rest.length, FLOW_LOG_RECORDS);
  t.deepEqual(
    rest.slice(-7).map(({ opener }) => opener),
    Array.from({ length: 7 }, () => 'key 200'),
  );
});

test('a device that is too fast loses its own records, and nobody else does', (t) => {
  const ring = createFlowLogRing();
  const writer = writerOf(ring);
  const reader = new FlowLogReader(ring);
  let taken = 0;
  for (let i = 0; i < 40_000; i++) {
    writer.opened(1, endOf(7));
    if (i % 10_000 === 0) taken += allOf(reader).length;
  }
  taken += allOf(reader).length;
  t.is(taken, FLOW_LOG_RECORDS_PER_DEVICE);
  t.deepEqual(reader.lost, { full: 0, share: 40_000 - FLOW_LOG_RECORDS_PER_DEVICE });
  writer.opened(1, endOf(8));
  t.is(reader.take()!.opener, 'key 8');
  writer.begin(6_000, 6_000);
  writer.opened(1, endOf(7));
  t.is(reader.take()!.opener, 'key 7');
});

test('a device that opens 10,000 flows a second pushes out no more than its share', (t) => {
  const ended = { capacity: 4_096, share: 256 };
  const bench = new Bench({ capacity: 16_384, quota: 4_096, ended });
  const { writer, reader } = logged(bench);
  const flow = (source: string, port: number): Uint8Array => {
    const packet = udp({ source, destination: host, destinationPort: 53 });
    viewOf(packet).setUint16(20, port);
    return packet;
  };
  for (let port = 1; port <= 200; port++) bench.judge(flow(other, port));
  bench.tracker.forgetAddress(1, 4);
  bench.sweep();
  const seen = { opened: 0, ended: 0, others: 0 };
  const read = (): void => {
    for (const { event, opener } of allOf(reader)) {
      if (event !== 'refused') seen[event]++;
      if (opener !== '0') seen.others++;
    }
  };
  read();
  t.deepEqual(seen, { opened: 200, ended: 200, others: 400 });
  // Three seconds; the main thread looks ten times a second.
  for (let tick = 0; tick < 30; tick++) {
    bench.now += 100;
    writer.begin(bench.now, bench.now);
    for (let i = 0; i < 1_000; i++) bench.judge(flow(device, 1_024 + tick * 1_000 + i));
    bench.judge(flow(other, 1_000 + tick));
    read();
  }
  const { tracker } = bench;
  t.is(seen.others, 400 + 30, 'every record of the other device is there');
  t.is(seen.opened, 200 + 30 + 30_000);
  t.is(seen.ended, 200 + 30_000 - 4_096, 'its own old flows made room');
  t.deepEqual(reader.lost, { full: 0, share: 0 });
  const ofOther: string[] = [];
  for (let at = tracker.ended.before(Infinity); at !== 0; at = tracker.ended.earlier(at))
    if (tracker.ended.read(at).opener!.key === '1') ofOther.push(tracker.ended.read(at).because);
  t.is(ofOther.length, 200);
  t.is(tracker.ended.size, 200 + 256);
  t.deepEqual(tracker.ended.forgotten, { share: 30_000 - 4_096 - 256, full: 0 });
});

test('a worker that is started again goes on where the one before stopped', (t) => {
  const ring = createFlowLogRing();
  const reader = new FlowLogReader(ring);
  writerOf(ring).ended(1, endOf(1));
  writerOf(ring).ended(1, endOf(2));
  t.deepEqual(
    allOf(reader).map(({ opener }) => opener),
    ['key 1', 'key 2'],
  );
});

test('the records of all workers are taken in turn, and their losses are added up', (t) => {
  const log = new FlowLog(3);
  for (const worker of [0, 2])
    for (let i = 0; i < 2; i++) writerOf(log.rings[worker]!).ended(1, endOf(worker));
  const taken = allOf(log).map(({ opener }) => opener);
  t.deepEqual(taken, ['key 0', 'key 2', 'key 0', 'key 2']);
  const writer = writerOf(log.rings[1]!);
  for (let i = 0; i < FLOW_LOG_RECORDS + 3; i++) writer.ended(1, endOf(i % 100));
  t.deepEqual(log.lost, { full: 3, share: 0 });
});

test('writing allocates nothing', (t) => {
  const ring = createFlowLogRing();
  const writer = writerOf(ring);
  const header = new Int32Array(ring, 0, FLOW_LOG_HEADER_BYTES / 4);
  const end = endOf(1);
  const words = new Int32Array(18);
  words[0] = 3;
  const waiting = new Float64Array(4).fill(2);
  const bytes = bytesPerCall(
    () => {
      // As if all had been read: a reader would allocate.
      header[FLOW_LOG_HEADER_BYTES / 8] = header[0]!;
      writer.ended(1, end);
      writer.refused(words, 0, waiting, 0, 'a rule');
    },
    { calls: 10_000, rounds: 11 },
  );
  t.true(bytes < 1, `${bytes} bytes`);
  t.true(header[0]! > 20_000);
});

test('refused packets say of which device they are, and how many', (t) => {
  const ring = createFlowLogRing();
  const writer = writerOf(ring);
  const words = new Int32Array(18);
  for (const [isSent, version] of [
    [1, 4],
    [0, 4],
    [1, 0],
  ] as const) {
    words.set([2 * 7 + isSent, (version << 8) | (version === 0 ? 0 : 6), 1, 0, 0, 0, 2]);
    words[10] = version === 0 ? -1 : 443;
    words[11] = 40;
    writer.refused(words, 0, Float64Array.of(3, 180, 4_000, 4_500), 0, null);
  }
  const [sent, received, unreadable] = allOf(new FlowLogReader(ring));
  t.like(sent, {
    event: 'refused',
    opener: 'key 7',
    target: null,
    source: Uint8Array.of(0, 0, 0, 1),
    sourcePort: null,
    destinationPort: 443,
    by: null,
    because: null,
    rule: null,
    openedMs: 4_000,
    latestMs: 4_500,
    sentPackets: 3,
    sentBytes: 180,
    isAnswered: false,
    replyPackets: 0,
  });
  t.like(received, { opener: null, target: 'key 7' });
  t.like(unreadable, { version: 0, source: new Uint8Array(0), destinationPort: null });
});
