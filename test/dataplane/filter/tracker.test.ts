// How long flows are remembered, what happens to forgotten ones, and which rules count. The memory
// is limited, and nothing is allocated.

import test from 'ava';
import { GLOBAL_SCOPE } from '../../../dataplane/contract.ts';
import { NO_PEER } from '../../../dataplane/filter/flow-verdict.ts';
import { type ReasonName } from '../../../dataplane/reasons.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { fromPeer, toPeer } from '../../support/filter/flows.ts';
import { bytesPerCall } from '../../support/dataplane/native.ts';
import { echoRequest, udp, viewOf } from '../../support/dataplane/packets.ts';
import { rule } from '../../support/dataplane/simulation.ts';
import {
  ACK,
  Bench,
  FIN,
  RST,
  SECOND,
  SYN,
  connection,
  device,
  dropAll,
  echoReply,
  exchange,
  host,
  other,
  places,
} from '../../support/filter/tracking.ts';

const HOUR = 3_600 * SECOND;

// ---- lifetimes -------------------------------------------------------------------------------

test('UDP is remembered for 180 s after its last packet in either direction', (t) => {
  const bench = new Bench({ default: 'drop' });
  const { ask, answer } = exchange(host, device);
  bench.judge(ask);
  for (let i = 0; i < 5; i++) {
    bench.now += 180 * SECOND - 1;
    t.is(bench.judge(answer), 'none');
  }
  bench.now += 180 * SECOND;
  t.is(bench.judge(answer), 'default_drop');
});

test('ICMP is remembered for 30 s', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.judge(echoRequest(host, device));
  bench.now += 30 * SECOND - 1;
  t.is(bench.judge(echoReply(device, host)), 'none');
  bench.now += 30 * SECOND;
  t.is(bench.judge(echoReply(device, host)), 'default_drop');
});

test('an established connection is remembered for 2 h 4 min, one that only begins is not', (t) => {
  const bench = new Bench({ default: 'drop' });
  const { ask, answer } = connection(host, device);
  bench.all(ask(SYN), answer(SYN | ACK));
  bench.now += 120 * SECOND;
  t.is(bench.judge(answer(ACK)), 'default_drop');
  bench.all(ask(SYN), answer(SYN | ACK), ask(ACK));
  bench.now += 2 * HOUR + 240 * SECOND - 1;
  t.is(bench.judge(answer(ACK)), 'none');
  bench.now += 2 * HOUR + 240 * SECOND;
  t.is(bench.judge(answer(ACK)), 'default_drop');
});

const endings: readonly (readonly [title: string, ask: number[], answer: number[]])[] = [
  ['a reset by whoever opened it', [RST], []],
  ['a reset by the other side', [], [RST | ACK]],
  ['both ends', [FIN | ACK], [FIN | ACK]],
];

for (const [title, asked, answered] of endings) {
  test(`after ${title} a connection is remembered for 10 s, even if more packets come`, (t) => {
    const bench = new Bench({ default: 'drop' });
    const { ask, answer } = connection(host, device);
    bench.all(ask(SYN), answer(SYN | ACK), ask(ACK), ...asked.map(ask), ...answered.map(answer));
    bench.now += 10 * SECOND - 1;
    t.deepEqual(bench.all(ask(ACK), answer(ACK)), ['none', 'none']);
    bench.now += 1;
    t.is(bench.judge(answer(ACK)), 'default_drop');
  });
}

test('a connection that one side has ended can go on in the other direction', (t) => {
  const bench = new Bench({ default: 'drop' });
  const { ask, answer } = connection(host, device);
  bench.all(ask(SYN), answer(SYN | ACK), ask(ACK), ask(FIN | ACK));
  bench.now += HOUR;
  t.is(bench.judge(answer(ACK)), 'none');
});

test('ports that were just used can be used again, by either side', (t) => {
  const bench = new Bench();
  const { ask, answer } = connection(device, host);
  bench.all(ask(SYN), answer(SYN | ACK), ask(ACK), ask(FIN | ACK), answer(FIN | ACK));
  t.deepEqual(bench.all(ask(SYN), answer(SYN | ACK), ask(ACK)), ['none', 'none', 'none']);
  bench.now += HOUR;
  bench.rules('0', ...dropAll);
  t.is(bench.judge(answer(ACK)), 'rule_drop', 'the rules apply to the new connection');
});

// ---- what was forgotten ------------------------------------------------------------------------

/** Makes the device open and hold so many flows to another host. */
function openElsewhere(bench: Bench, count: number): void {
  for (let i = 0; i < count; i++) {
    const ends = { source: device, destination: '192.0.2.9', sourcePort: 1 + i };
    bench.judge(udp({ ...ends, destinationPort: 7 }));
    const back = { source: '192.0.2.9', destination: device, destinationPort: 1 + i };
    bench.judge(udp({ ...back, sourcePort: 7 }));
  }
}

for (const [title, mine, theirs] of places) {
  test(`after a restart a device cannot go on with ${title} if its rules refuse it`, (t) => {
    const bench = new Bench();
    const { ask, answer } = exchange(mine, theirs);
    bench.all(ask, answer);
    bench.rules('0', ...dropAll);
    t.deepEqual(bench.all(ask, answer), ['rule_drop', 'rule_drop']);
    bench.restart();
    t.deepEqual(bench.all(answer, ask, answer, ask), dropped(4));
    // This stays so for as long as either side goes on.
    for (let i = 0; i < 5; i++) {
      bench.now += 179 * SECOND;
      t.deepEqual(bench.all(answer, ask), dropped(2));
    }
    bench.rules('0');
    t.deepEqual(bench.all(answer, ask), ['none', 'none']);
  });
}

function dropped(count: number): ReasonName[] {
  return Array.from({ length: count }, () => 'rule_drop');
}

test('a rule that is added after a restart ends the flows that the device had before', (t) => {
  const bench = new Bench();
  const { ask, answer } = exchange(device, host);
  bench.all(ask, answer);
  bench.restart();
  t.deepEqual(bench.all(answer, ask), ['none', 'none']);
  bench.rules('0', ...dropAll);
  t.deepEqual(bench.all(answer, ask), dropped(2));
});

test('a flow that others open to a device after the doubt is answered, whatever its rules say', (t) => {
  const bench = new Bench();
  bench.rules('0', ...dropAll);
  bench.restart();
  const { ask, answer } = exchange(host, device);
  t.is(bench.judge(ask), 'rule_drop');
  bench.now += 180 * SECOND;
  t.deepEqual(bench.all(ask, answer), ['none', 'none']);
});

test('TCP and ping show that they begin, so they are not in doubt', (t) => {
  const bench = new Bench();
  bench.rules('0', ...dropAll);
  bench.restart();
  const { ask, answer } = connection(host, device);
  const pings = [echoRequest(host, device), echoReply(device, host)];
  t.deepEqual(
    bench.all(ask(SYN), answer(SYN | ACK), ask(ACK), ...pings),
    Array.from({ length: 5 }, () => 'none'),
  );
});

test('between two devices in doubt the rules of both apply', (t) => {
  const bench = new Bench();
  const { ask, answer } = exchange(device, other);
  bench.restart();
  t.deepEqual(bench.all(ask, answer), ['none', 'none']);
  bench.rules('1', ...dropAll);
  t.deepEqual(bench.all(ask, answer), dropped(2));
  bench.rules('1');
  t.deepEqual(bench.all(ask, answer), ['none', 'none']);
  bench.rules('0', ...dropAll);
  t.deepEqual(bench.all(ask, answer), dropped(2));
});

for (const [title, isKnown] of [
  ['that is known to be refused', true],
  ['that a new rule refuses and that was not checked since', false],
] as const) {
  test(`a flow ${title} does not go on after it was removed for a new one`, (t) => {
    const bench = new Bench({ quota: 16 });
    const { ask, answer } = exchange(device, host);
    bench.all(ask, answer);
    bench.rules('0', rule('1', 'drop', host));
    if (isKnown) t.deepEqual(bench.all(ask, answer), dropped(2));
    openElsewhere(bench, 40);
    t.deepEqual(bench.all(answer, ask, answer, ask), dropped(4));
    openElsewhere(bench, 40);
    t.deepEqual(bench.all(answer, ask), dropped(2), 'nor when it was found again, and lost');
  });
}

test('a flow that was removed for a new one is in doubt until it would have ended', (t) => {
  const bench = new Bench({ capacity: 16, quota: 16 });
  const { ask, answer } = exchange(device, host);
  bench.all(ask, answer);
  for (let port = 1; port < 40; port++) {
    bench.judge(udp({ source: other, destination: '192.0.2.9', sourcePort: port }));
    bench.judge(udp({ source: '192.0.2.9', destination: other, destinationPort: port }));
  }
  bench.rules('0', ...dropAll);
  t.deepEqual(bench.all(answer, ask), dropped(2));
  bench.now += 180 * SECOND;
  const late = exchange(host, device);
  t.deepEqual(bench.all(late.ask, late.answer), ['none', 'none']);
});

// ---- counters --------------------------------------------------------------------------------

test('a rule counts every packet that the opener sends, and none of the replies', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('web', 'accept', host, { type: 'tcp', first: 80 }));
  const { ask, answer } = connection(device, host);
  bench.all(ask(SYN), answer(SYN | ACK), ask(ACK), answer(ACK), ask(ACK));
  t.deepEqual(bench.hits(), ['web: 3, 120']);
  bench.rules('0', rule('no', 'drop', '0.0.0.0/0'), rule('web', 'accept', '198.51.100.0/24'));
  bench.all(ask(ACK), answer(ACK));
  t.deepEqual(bench.hits(), ['no: 1, 40']);
});

test('the hits of a global rule are counted at this rule', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('own', 'accept', '198.51.100.0/24'));
  bench.rules(GLOBAL_SCOPE, rule('global', 'accept', '0.0.0.0/0'));
  const { ask } = exchange(device, host);
  bench.all(ask, ask, ask);
  t.deepEqual(bench.hits(), ['global: 3, 84']);
});

// ---- bounds and cost -------------------------------------------------------------------------

test('a device that opens flows without end loses its own oldest ones, and others lose none', (t) => {
  const bench = new Bench({ default: 'drop', capacity: 256, quota: 16 });
  bench.rules('0', rule('a', 'accept', '0.0.0.0/0'));
  const established = connection(host, device);
  const elsewhere = exchange(host, other);
  bench.all(established.ask(SYN), established.answer(SYN | ACK), established.ask(ACK));
  bench.judge(elsewhere.ask);
  for (let port = 0; port < 1_000; port++)
    bench.judge(udp({ source: device, destination: '192.0.2.9', sourcePort: port }));
  t.is(bench.tracker.flows.live, 17);
  bench.rules('0');
  t.is(bench.judge(established.answer(ACK)), 'none', 'replied ones stay');
  t.is(bench.judge(elsewhere.answer), 'none');
});

test('judging packets of flows allocates nothing', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('web', 'accept', host, { type: 'tcp', first: 80 }));
  const { ask, answer } = connection(device, host);
  bench.all(ask(SYN), answer(SYN | ACK), ask(ACK));
  const six = udp({ source: 'fd00::2', destination: '2001:db8::1' });
  const views = [ask(ACK), answer(ACK), six].map(viewOf);
  const packet = new InnerPacket();
  t.true(
    bytesPerCall(() => {
      bench.tracker.begin(20_000.5, 1_700_000_000_000.5);
      for (const view of views) {
        parseInner(view, 0, view.byteLength, packet);
        if (packet.source0 === 0x0a000002 || packet.version === 6)
          fromPeer(bench.tracker, view, packet, 0, NO_PEER);
        else toPeer(bench.tracker, view, packet, 0);
      }
    }) < 1,
  );
});

test('opening flows allocates nothing, even when others are removed for them', (t) => {
  const bench = new Bench({ capacity: 256, quota: 64 });
  const view = viewOf(exchange(device, host).ask);
  const packet = new InnerPacket();
  let port = 0;
  t.true(
    bytesPerCall(() => {
      port = (port + 1) & 0xffff;
      view.setUint16(20, port);
      parseInner(view, 0, view.byteLength, packet);
      bench.tracker.begin(20_000.5, 1_700_000_000_000.5);
      fromPeer(bench.tracker, view, packet, 0, NO_PEER);
    }) < 1,
  );
  t.is(bench.tracker.flows.live, 64);
});
