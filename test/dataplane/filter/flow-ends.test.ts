// Which flows have ended, and why: in any course of packets, rules and changes the ones that a slow
// twin says. A device that is gone is named still, and never the one that has its slot by then.

import test from 'ava';
import type { EndedRecord } from '../../../dataplane/filter/ended-flows.ts';
import { formatAddress } from '../../../dataplane/wire/address.ts';
import { coursesOf } from '../../support/filter/courses.ts';
import { Pair } from '../../support/filter/pair.ts';
import type { Side, SlowEnd } from '../../support/filter/slow-filter.ts';
import {
  ACK,
  Bench,
  connection,
  device,
  dropAll,
  exchange,
  FIN,
  host,
  other,
  RST,
  SECOND,
  SYN,
} from '../../support/filter/tracking.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';
import { udp, viewOf } from '../../support/dataplane/packets.ts';
import { rule, SEEDED } from '../../support/dataplane/simulation.ts';

function recordsOf({ tracker: { ended } }: Bench): EndedRecord[] {
  const records: EndedRecord[] = [];
  for (let place = ended.before(Infinity); place !== 0; place = ended.earlier(place))
    records.push(ended.read(place));
  return records.toReversed();
}

/** Why the flows of a bench have ended, in order. */
function whyOf(bench: Bench): string[] {
  return recordsOf(bench).map(({ because }) => because);
}

function textOf(version: number, words: Int32Array): string {
  const bytes = new Uint8Array(version === 4 ? 4 : 16);
  for (let i = 0; 4 * i < bytes.length; i++) viewOf(bytes).setInt32(4 * i, words[i]!);
  return formatAddress(bytes);
}

/** What both say of an end; an echo has no ports in the twin. */
function lineOf(record: EndedRecord): string {
  const hasPorts = record.protocol === 6 || record.protocol === 17;
  return JSON.stringify([
    record.opener?.key ?? 'tun',
    record.target?.key ?? 'tun',
    textOf(record.version, record.source),
    textOf(record.version, record.destination),
    record.protocol,
    hasPorts ? [record.sourcePort, record.destinationPort] : null,
    record.isAnswered,
    [record.openedAt, record.latestAt, record.sentPackets, record.replyPackets],
    record.because,
  ]);
}

function slowLineOf({ flow, because }: SlowEnd): string {
  const { packet, opener, target } = flow;
  const hasPorts = packet.protocol === 6 || packet.protocol === 17;
  const nameOf = (side: Side): string => (side === 'tun' ? 'tun' : `${side}`);
  return JSON.stringify([
    nameOf(opener),
    nameOf(target),
    packet.source,
    packet.destination,
    packet.protocol,
    hasPorts ? [packet.sourcePort, packet.destinationPort] : null,
    flow.replied,
    [flow.openedAt, flow.latestAt, flow.sent, flow.replies],
    because,
  ]);
}

test('in any course those have ended that the slow twin says, with the same counts', (t) => {
  const met: Record<string, number> = {};
  let named = 0;
  for (const [run, steps] of coursesOf(260).entries()) {
    const pair = new Pair(run % 2 === 0 ? 'accept' : 'drop');
    const { bench, slow } = pair;
    for (const [i, step] of steps.entries()) {
      const where = `seed ${SEEDED.seed}, run ${run}, step ${i}`;
      if (pair.take(step) !== null) return t.fail(where);
      slow.now = bench.now;
      slow.sweep();
      bench.sweep();
      if (step.type === 'restart') {
        slow.ended.length = 0;
        continue;
      }
      const records = recordsOf(bench);
      t.deepEqual(records.map(lineOf).toSorted(), slow.ended.map(slowLineOf).toSorted(), where);
      const latest = records.at(-1);
      if (latest === undefined) continue;
      met[latest.because] = (met[latest.because] ?? 0) + 1;
      // In doubt, rules of the other side may refuse what came from behind the TUN.
      const isByTun = latest.opener === null && latest.because !== 'refused';
      t.is(latest.by === 'nothing', isByTun, where);
      t.true(latest.rule === null || latest.by === 'rule', where);
      const rules = new Set(slow.ended.flatMap(({ flow }) => flow.verdict.rules));
      if (latest.rule === null) continue;
      t.true(rules.has(latest.rule), where);
      named++;
    }
  }
  t.log(met, { named });
  for (const why of ['finished', 'reset', 'idle', 'refused', 'device_removed'])
    t.true(met[why]! > 20, why);
  t.true(named > 100);
});

test('each way to end has its name', (t) => {
  const bench = new Bench({ capacity: 8, quota: 2 });
  const tcp = connection(device, host);
  bench.all(tcp.ask(SYN), tcp.answer(SYN | ACK), tcp.ask(FIN | ACK), tcp.answer(FIN | ACK));
  bench.now += 10 * SECOND;
  bench.sweep();
  t.deepEqual(whyOf(bench), ['finished']);
  bench.all(tcp.ask(SYN), tcp.answer(RST), tcp.ask(SYN));
  t.deepEqual(whyOf(bench), ['finished', 'reset']);
  bench.rules('0', ...dropAll);
  bench.sweep();
  bench.sweep();
  t.deepEqual(whyOf(bench).slice(2), ['refused']);
  bench.rules('0');
  bench.now += 120 * SECOND;
  bench.sweep();
  // What was refused has ended once.
  t.is(whyOf(bench).length, 3);
  const asked = udp({ source: device, destination: host, destinationPort: 53 });
  for (const port of [1, 2, 3]) {
    viewOf(asked).setUint16(20, port);
    bench.judge(asked);
  }
  t.deepEqual(whyOf(bench).slice(3), ['no_room']);
  bench.tracker.removePeer(0);
  bench.tracker.addPeer(0, 'another owner', 'another key');
  bench.sweep();
  t.deepEqual(whyOf(bench).slice(4), ['device_removed', 'device_removed']);
});

test('a flow that may pass again begins anew', (t) => {
  const bench = new Bench();
  const { ask } = exchange(device, host);
  bench.all(ask, ask, ask);
  bench.rules('0', ...dropAll);
  bench.judge(ask);
  t.like(recordsOf(bench)[0], { because: 'refused', by: 'rule', rule: '4', sentPackets: 3 });
  bench.now += SECOND;
  bench.rules('0');
  bench.judge(ask);
  bench.now += 180 * SECOND;
  bench.sweep();
  const [, again, ...more] = recordsOf(bench);
  t.deepEqual(more, []);
  const at = bench.now - 180 * SECOND;
  t.like(again, { because: 'idle', by: 'default', openedAt: at, latestAt: at, sentPackets: 1 });
});

test('it is said which rule let a flow pass, also where it is another one by then', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('first', 'accept', '192.0.2.0/24'));
  bench.judge(exchange(device, host).ask);
  bench.rules('0', rule('second', 'accept', '192.0.2.0/24'));
  bench.sweep();
  bench.now += 180 * SECOND;
  bench.sweep();
  t.like(recordsOf(bench)[0], { because: 'idle', by: 'rule', rule: 'second' });
});

test('the rule is left out where its number may be another rule by now', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('first', 'accept', '192.0.2.0/24'));
  bench.judge(exchange(device, host).ask);
  bench.tracker.removePeer(0);
  bench.rules('0');
  bench.sweep();
  t.like(recordsOf(bench)[0], { because: 'device_removed', by: 'rule', rule: null });
});

test('a device that is gone is named, and not the one that has its slot', (t) => {
  const bench = new Bench();
  bench.all(exchange(device, host).ask, exchange(other, device).ask);
  bench.tracker.removePeer(0);
  bench.tracker.addPeer(0, 'x', 'new');
  bench.judge(exchange(device, host).ask);
  bench.sweep();
  bench.now += 180 * SECOND;
  bench.sweep();
  const ends = recordsOf(bench).map(({ opener, target, because }) =>
    [opener?.key, opener?.scope, target?.key, because].join(' '),
  );
  t.deepEqual(ends.toSorted(), ['0 0  device_removed', '1 1 0 device_removed', 'new x  idle']);
});

test('a device is listed under the owner that it had when a flow ended', (t) => {
  const bench = new Bench();
  bench.judge(exchange(device, host).ask);
  bench.tracker.moveToScope(0, 'x');
  bench.now += 180 * SECOND;
  bench.sweep();
  t.deepEqual(recordsOf(bench)[0]!.opener, { key: '0', scope: 'x' });
});

test('devices that are gone are remembered until all flows were looked at', (t) => {
  const bench = new Bench();
  const { ends } = bench.tracker;
  bench.tracker.removePeer(2);
  t.is(ends.gone, 0);
  bench.tracker.addPeer(2, '2');
  bench.judge(exchange(other, host).ask);
  for (let i = 0; i < 100; i++) {
    bench.tracker.removePeer(0);
    bench.tracker.addPeer(0, '0');
    bench.now += 4 * SECOND;
    bench.sweep();
    t.true(ends.gone <= 6, `${ends.gone}`);
  }
});

test('a worker notes no flow of a device that another worker has', (t) => {
  const bench = new Bench();
  bench.tracker.removePeer(1);
  bench.tracker.addPeer(1, '1', 'elsewhere', false);
  bench.all(exchange(other, device).ask, exchange(device, host).ask);
  bench.now += 180 * SECOND;
  bench.sweep();
  t.deepEqual(
    recordsOf(bench).map(({ opener }) => opener!.key),
    ['0'],
  );
});

test('a device that another worker has stays so when it moves to another owner', (t) => {
  const bench = new Bench();
  bench.tracker.removePeer(1);
  bench.tracker.addPeer(1, '1', 'elsewhere', false);
  bench.tracker.moveToScope(1, 'x');
  bench.judge(exchange(other, device).ask);
  bench.now += 180 * SECOND;
  bench.sweep();
  t.deepEqual(recordsOf(bench), []);
});

test('flows that come and go allocate nothing', (t) => {
  const bench = new Bench({ ended: { capacity: 64, share: 16 } });
  const { flows } = bench.tracker;
  const packet = exchange(device, host).ask;
  bench.judge(packet);
  const first = 1;
  const end = flows.onRemove!;
  const bytes = bytesPerCall(
    () => {
      for (let i = 0; i < 100; i++) end(first, true);
    },
    { calls: 10, rounds: 51 },
  );
  t.true(bytes < 100, `${bytes} bytes`);
  t.true(bench.tracker.ended.forgotten.share > 1_000);
});
