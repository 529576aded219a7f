// Verdicts on packets of flows: who opened them, what that means after rules and addresses
// have changed, and ICMP errors.

import test from 'ava';
import fc from 'fast-check';
import { GLOBAL_SCOPE } from '../../../dataplane/contract.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { toPeer } from '../../support/filter/flows.ts';
import { concat, echoRequest, ip, tcp, udp, viewOf } from '../../support/dataplane/packets.ts';
import { rule, SEEDED } from '../../support/dataplane/simulation.ts';
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
  errorAbout,
  exchange,
  host,
  other,
  places,
} from '../../support/filter/tracking.ts';

// ---- who opened it ---------------------------------------------------------------------------

for (const [title, mine, theirs] of places) {
  test(`replies to a connection that ${title} opened pass whatever the rules say`, (t) => {
    const bench = new Bench({ default: 'drop' });
    bench.rules('1', rule('a4', 'accept', '0.0.0.0/0'), rule('a6', 'accept', '::/0'));
    bench.rules('0', ...dropAll);
    const { ask, answer } = connection(theirs, mine);
    const pings = [echoRequest(theirs, mine), echoReply(mine, theirs)];
    const { ask: question, answer: reply } = exchange(theirs, mine);
    t.deepEqual(
      bench.all(ask(SYN), answer(SYN | ACK), ask(ACK), answer(ACK), question, reply, ...pings),
      Array.from({ length: 8 }, () => 'none'),
    );
  });

  test(`what a device opens towards ${title} is judged, and so is all that follows`, (t) => {
    const bench = new Bench();
    bench.rules('0', ...dropAll);
    const { ask } = connection(mine, theirs);
    t.deepEqual(
      bench.all(ask(SYN), ask(ACK), exchange(mine, theirs).ask, echoRequest(mine, theirs)),
      Array.from({ length: 4 }, () => 'rule_drop'),
    );
  });
}

test('replies without a question are judged', (t) => {
  const bench = new Bench({ default: 'drop' });
  const { answer } = connection(host, device);
  t.is(bench.judge(answer(SYN | ACK)), 'default_drop');
  t.is(bench.judge(exchange(host, device).answer), 'default_drop');
  t.is(bench.judge(echoReply(device, host)), 'default_drop');
});

test('an answer must mirror both addresses and both ports', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.judge(exchange(host, device).ask);
  const answer = { source: device, destination: host, sourcePort: 53, destinationPort: 40_000 };
  t.is(bench.judge(udp({ ...answer, destination: '192.0.2.2' })), 'default_drop');
  t.is(bench.judge(udp({ ...answer, sourcePort: 54 })), 'default_drop');
  t.is(bench.judge(udp({ ...answer, destinationPort: 40_001 })), 'default_drop');
  t.is(bench.judge(tcp({ ...answer, flags: ACK })), 'default_drop');
  t.is(bench.judge(udp({ ...answer, source: other })), 'default_drop');
  t.is(bench.judge(udp(answer)), 'none');
});

test('a handshake is no reply: a device may not turn a connection around', (t) => {
  const bench = new Bench({ default: 'drop' });
  const { ask, answer } = connection(host, device);
  bench.all(ask(SYN), answer(SYN | ACK), ask(ACK));
  t.is(bench.judge(answer(SYN)), 'default_drop');
  t.is(bench.judge(answer(ACK)), 'none');
});

test('an echo request is no reply to one, though its identifier is the same', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.judge(echoRequest(host, device));
  t.is(bench.judge(echoRequest(device, host)), 'default_drop');
  t.is(bench.judge(echoReply(device, host)), 'none');
});

test('the middle of a connection that nobody saw begin opens nothing', (t) => {
  const bench = new Bench({ default: 'drop' });
  const { ask, answer } = connection(host, device);
  for (const flags of [ACK, SYN | ACK, FIN | ACK, RST]) {
    t.is(bench.judge(ask(flags)), 'none');
    t.is(bench.judge(answer(ACK)), 'default_drop');
  }
});

test('a device that nobody asked about its echo does not open by answering', (t) => {
  const bench = new Bench();
  t.is(bench.judge(echoReply(device, host)), 'none');
  t.is(bench.tracker.flows.live, 0);
});

test('GRE and whatever else has no ports has flows between addresses', (t) => {
  const bench = new Bench({ default: 'drop' });
  const gre = (source: string, destination: string): Uint8Array =>
    ip({ source, destination, protocol: 47, payload: new Uint8Array(8) });
  t.is(bench.judge(gre(device, host)), 'default_drop');
  bench.judge(gre(host, device));
  t.is(bench.judge(gre(device, host)), 'none');
  t.is(bench.judge(gre(device, '192.0.2.2')), 'default_drop');
});

test('a packet that comes from another side than its flow is judged by itself', (t) => {
  const bench = new Bench({ default: 'drop' });
  // The LAN speaks in the name of a device.
  const forged = exchange(other, device);
  const packet = new InnerPacket();
  parseInner(viewOf(forged.ask), 0, forged.ask.length, packet);
  bench.tracker.begin(bench.now, 0);
  t.is(toPeer(bench.tracker, viewOf(forged.ask), packet, 0), reasons.none);
  t.is(bench.judge(forged.answer), 'default_drop');
  t.is(bench.judge(forged.ask), 'default_drop');
});

// ---- change ----------------------------------------------------------------------------------

for (const [title, mine, theirs] of places) {
  test(`a new drop rule ends what a device opened towards ${title}, both ways`, (t) => {
    const bench = new Bench();
    const { ask, answer } = connection(mine, theirs);
    const { ask: question, answer: reply } = exchange(mine, theirs);
    const talk = [ask(SYN), answer(SYN | ACK), ask(ACK), question, reply];
    t.deepEqual(bench.all(...talk), ['none', 'none', 'none', 'none', 'none']);
    bench.rules('0', ...dropAll);
    const more = [ask(ACK), answer(ACK), question, reply];
    t.deepEqual(
      bench.all(...more),
      Array.from({ length: 4 }, () => 'rule_drop'),
    );
    // What the other side goes on sending does not open a way back.
    t.deepEqual(
      bench.all(...more),
      Array.from({ length: 4 }, () => 'rule_drop'),
    );
    bench.rules('0');
    t.deepEqual(
      bench.all(...more),
      Array.from({ length: 4 }, () => 'none'),
    );
  });

  test(`a new drop rule leaves alone what ${title} opened`, (t) => {
    const bench = new Bench();
    const { ask, answer } = connection(theirs, mine);
    bench.all(ask(SYN), answer(SYN | ACK), ask(ACK));
    bench.rules('0', ...dropAll);
    t.deepEqual(bench.all(ask(ACK), answer(ACK)), ['none', 'none']);
  });
}

test('without any rule it is remembered who opened what, for when there is one', (t) => {
  const bench = new Bench();
  const theirs = exchange(host, device);
  const mine = exchange(device, '192.0.2.2');
  bench.all(theirs.ask, theirs.answer, mine.ask, mine.answer);
  bench.rules(GLOBAL_SCOPE, ...dropAll);
  t.deepEqual(bench.all(mine.answer, mine.ask), ['rule_drop', 'rule_drop']);
  t.deepEqual(bench.all(theirs.ask, theirs.answer), ['none', 'none']);
});

test('a rule for something else costs a flow nothing', (t) => {
  const bench = new Bench();
  const { ask, answer } = connection(device, host);
  bench.all(ask(SYN), answer(SYN | ACK), ask(ACK));
  bench.rules(
    '0',
    rule('1', 'drop', '198.51.100.0/24'),
    rule('2', 'drop', host, { type: 'tcp', first: 81 }),
  );
  t.deepEqual(bench.all(ask(ACK), answer(ACK)), ['none', 'none']);
});

test('a refused connection may be opened by the other side', (t) => {
  const bench = new Bench();
  const { ask, answer } = connection(device, host);
  bench.all(ask(SYN), answer(SYN | ACK), ask(ACK));
  bench.rules('0', ...dropAll);
  t.is(bench.judge(ask(ACK)), 'rule_drop');
  t.deepEqual(bench.all(answer(SYN), ask(SYN | ACK), answer(ACK)), ['none', 'none', 'none']);
});

test('a device that moves to another owner is judged by the rules there', (t) => {
  const bench = new Bench();
  bench.rules('strict', ...dropAll);
  const { ask, answer } = exchange(device, host);
  bench.all(ask, answer);
  bench.tracker.moveToScope(0, 'strict');
  t.deepEqual(bench.all(ask, answer), ['rule_drop', 'rule_drop']);
  bench.tracker.moveToScope(0, '0');
  t.deepEqual(bench.all(ask, answer), ['none', 'none']);
});

test('an address takes its flows along when it goes, whoever opened them', (t) => {
  for (const [asking, asked] of [
    [host, device],
    [other, device],
  ] as const) {
    const bench = new Bench({ default: 'drop' });
    bench.rules('1', rule('a', 'accept', '0.0.0.0/0'));
    const { ask, answer } = exchange(asking, asked);
    t.deepEqual(bench.all(ask, answer), ['none', 'none']);
    // The address is another device's now.
    bench.tracker.removePeer(0);
    bench.tracker.addPeer(0, 'new');
    t.is(bench.judge(answer), 'default_drop');
  }
});

test('a device that loses its IPv4 address goes on with what it has over IPv6', (t) => {
  const bench = new Bench({ default: 'drop' });
  const four = exchange(host, device);
  const six = exchange('2001:db8::1', 'fd00::2');
  bench.all(four.ask, six.ask);
  bench.tracker.forgetAddress(0, 4);
  t.deepEqual(bench.all(four.answer, six.answer), ['default_drop', 'none']);
});

test('the flows of one device go, those of others stay', (t) => {
  const bench = new Bench({ default: 'drop' });
  const mine = exchange(host, device);
  const yours = exchange(host, other);
  bench.all(mine.ask, yours.ask);
  bench.tracker.removePeer(0);
  bench.tracker.addPeer(0, '0');
  t.deepEqual(bench.all(mine.answer, yours.answer), ['default_drop', 'none']);
});

// ---- ICMP errors -----------------------------------------------------------------------------

for (const [title, mine, theirs] of places) {
  test(`an error about what ${title} sent passes, whatever the rules say`, (t) => {
    const bench = new Bench({ default: 'drop' });
    bench.rules('1', rule('a4', 'accept', '0.0.0.0/0'), rule('a6', 'accept', '::/0'));
    for (const ask of [exchange(theirs, mine).ask, connection(theirs, mine).ask(SYN)]) {
      t.is(bench.judge(errorAbout(ask, mine, theirs)), 'default_drop', 'about nothing known');
      t.is(bench.judge(ask), 'none');
      t.is(bench.judge(errorAbout(ask, mine, theirs)), 'none');
    }
  });
}

test('an error goes to whoever sent what it quotes, or is judged by itself', (t) => {
  const bench = new Bench({ default: 'drop' });
  const { ask } = exchange(host, device);
  bench.judge(ask);
  t.is(bench.judge(errorAbout(ask, device, '192.0.2.2')), 'default_drop');
  t.is(bench.judge(errorAbout(ask, other, host)), 'default_drop');
  t.is(bench.judge(errorAbout(ask, device, host)), 'none');
});

test('an error to a neighbour of the sender is judged by itself', (t) => {
  const bench = new Bench({ default: 'drop' });
  const [mine, theirs] = ['fd00::2', '2001:db8::1'];
  const { ask } = exchange(theirs, mine);
  bench.judge(ask);
  t.is(bench.judge(errorAbout(ask, mine, '2001:db8::2')), 'default_drop');
  t.is(bench.judge(errorAbout(ask, mine, '2001:db8::1:0:1')), 'default_drop');
  t.is(bench.judge(errorAbout(ask, mine, theirs)), 'none');
});

test('an error about a ping belongs to the ping', (t) => {
  const bench = new Bench({ default: 'drop' });
  const ask = echoRequest(host, device);
  bench.judge(ask);
  t.is(bench.judge(errorAbout(ask, device, host)), 'none');
});

test('an error keeps no flow alive, and opens none', (t) => {
  const bench = new Bench({ default: 'drop' });
  const { ask } = exchange(host, device);
  const error = errorAbout(ask, device, host);
  bench.judge(ask);
  bench.now += 180 * SECOND - 1;
  t.is(bench.judge(error), 'none');
  bench.now += 1;
  t.is(bench.judge(error), 'default_drop');
  t.is(bench.judge(errorAbout(exchange(device, host).ask, host, device)), 'none');
  t.is(bench.tracker.flows.live, 0);
});

test('an error about a refused flow is refused', (t) => {
  const bench = new Bench();
  const { ask } = exchange(device, host);
  bench.judge(ask);
  t.is(bench.judge(errorAbout(ask, '192.0.2.254', device)), 'none', 'from a router on the way');
  bench.rules('0', ...dropAll);
  t.is(bench.judge(errorAbout(ask, '192.0.2.254', device)), 'rule_drop');
});

test('an error that quotes too little, or an error, is judged by itself', (t) => {
  const bench = new Bench({ default: 'drop' });
  const { ask } = exchange(host, device);
  bench.judge(ask);
  const short = ip({
    source: device,
    destination: host,
    protocol: 1,
    payload: concat(new Uint8Array([3, 1, 0, 0, 0, 0, 0, 0]), ask.subarray(0, 27)),
  });
  t.is(bench.judge(short), 'default_drop');
  const error = errorAbout(ask, device, host);
  t.is(bench.judge(errorAbout(error, device, host)), 'default_drop');
});

// ---- asking alone ----------------------------------------------------------------------------

/** Packets both ways between few ends, so that flows are opened, continued, refused and evicted. */
const anyBytes = fc
  .record({
    isOut: fc.boolean(),
    mine: fc.constantFrom(device, other),
    theirs: fc.constantFrom(host, '192.0.2.2', '10.0.0.4'),
    port: fc.nat(30),
    kind: fc.constantFrom('udp', 'syn', 'ack', 'rst', 'echo', 'error'),
  })
  .map(({ isOut, mine, theirs, port, kind }) => {
    const [source, destination] = isOut ? [mine, theirs] : [theirs, mine];
    const ends = { source, destination, sourcePort: port, destinationPort: 30 - port };
    if (kind === 'udp') return udp(ends);
    if (kind === 'echo') return echoRequest(source, destination);
    if (kind === 'error') return errorAbout(udp(ends), destination, source);
    return tcp({ ...ends, flags: kind === 'syn' ? SYN : kind === 'ack' ? ACK : RST });
  });

test('what is asked and not sent changes nothing for what is sent', (t) => {
  const met = new Set<string>();
  fc.assert(
    fc.property(
      fc.array(fc.tuple(anyBytes, fc.array(anyBytes, { maxLength: 3 }), fc.nat(99)), {
        minLength: 150,
        maxLength: 150,
      }),
      (steps) => {
        const asked = new Bench({ default: 'accept', capacity: 64, quota: 16 });
        const plain = new Bench({ default: 'accept', capacity: 64, quota: 16 });
        for (const [i, [sent, others, chance]] of steps.entries()) {
          for (const bench of [asked, plain]) {
            if (chance < 5) bench.now += 60 * SECOND;
            if (chance === 50) bench.restart();
            if (chance > 90)
              bench.rules(
                '0',
                rule(`${i}`, 'drop', host, { type: 'udp', first: chance - 90, last: 30 }),
              );
          }
          asked.tracker.begin(asked.now, asked.now);
          plain.tracker.begin(plain.now, plain.now);
          for (const one of others) asked.ask(one);
          const expected = asked.ask(sent);
          const [mine, wanted] = [asked.judge(sent), plain.judge(sent)];
          met.add(wanted);
          const live = [asked.tracker.flows.live, plain.tracker.flows.live];
          if (mine !== wanted || live[0] !== live[1] || expected !== mine) return false;
          if (asked.hits().join() !== plain.hits().join()) return false;
        }
        return true;
      },
    ),
    { ...SEEDED, numRuns: 60 },
  );
  for (const what of ['none', 'rule_drop']) t.true(met.has(what), what);
});

test('a flow that gives way puts its opener in doubt at once, and the verdict knows it before', (t) => {
  const bench = new Bench({ capacity: 4, quota: 4 });
  bench.rules('1', rule('gone', 'drop', device));
  // Another device's flow with this one is the oldest, and is no longer allowed.
  bench.judge(udp({ source: other, destination: host, sourcePort: 1 }));
  for (const port of [2, 3, 4])
    bench.judge(udp({ source: device, destination: host, sourcePort: port }));
  const towards = udp({ source: device, destination: other });
  t.is(bench.ask(towards), 'rule_drop', 'it may answer what the other one asked');
  t.is(bench.judge(towards), 'rule_drop');
  t.is(new Bench({ capacity: 4, quota: 4 }).judge(towards), 'none');
});
