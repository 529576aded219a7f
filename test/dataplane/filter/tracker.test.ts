// Conversations: who opened them, what that means after rules and addresses have changed, fragments
// and ICMP errors; a slow twin for everything at once.

import test from 'ava';
import fc from 'fast-check';
import { GLOBAL_SCOPE, type RuleConfig } from '../../../dataplane/contract.ts';
import { rulesFor } from '../../support/standing.ts';
import { Filter } from '../../../dataplane/filter/filter.ts';
import { FlowTable } from '../../../dataplane/filter/flow-table.ts';
import { NO_PEER, Tracker } from '../../../dataplane/filter/tracker.ts';
import { type ReasonName, reasonNames, reasons } from '../../../dataplane/reasons.ts';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { bytesPerCall } from '../../support/native.ts';
import {
  address,
  concat,
  echoRequest,
  flagsOf,
  fragmentHeader,
  ip,
  tcp,
  udp,
  viewOf,
} from '../../support/packets.ts';
import { rule, SEEDED } from '../../support/simulation.ts';
import { type Described, type Side, SlowTracker } from '../../support/slow-filter.ts';
import { told } from '../../support/told.ts';
import { chance } from '../../support/world-test.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** Peers 0 to 2 are 10.0.0.2 to .4 and fd00::2 to ::4; everything else is behind the TUN. */
function sideOf(text: string): Side {
  const last = /^(?:10\.0\.0\.|fd00::)([234])$/.exec(text)?.[1];
  return last === undefined ? 'tun' : Number(last) - 2;
}

interface Options {
  default?: 'accept' | 'drop';
  capacity?: number;
  quota?: number;
}

/** A tracker with three peers, each its own owner ("0" to "2"), and a clock. */
class Bench {
  readonly filter: Filter;
  tracker: Tracker;
  readonly #options: Options;
  readonly #say: ReturnType<typeof rulesFor>;
  now = 10_000;
  /** Whether packets come in one batch with those before, or each in a turn of its own. */
  keepsTurn = false;

  constructor(options: Options = {}) {
    this.filter = new Filter(options.default ?? 'accept');
    // Small pieces, so that a few rules are many.
    this.#say = rulesFor(this.filter, 2);
    this.#options = options;
    this.tracker = this.#begin(['0', '1', '2']);
  }

  #begin(scopes: readonly string[]): Tracker {
    const { capacity = 1_024, quota = 256 } = this.#options;
    const random = chance(1);
    const tracker = new Tracker(this.filter, random, new FlowTable({ random, capacity, quota }));
    tracker.begin(this.now, this.now);
    for (const [slot, scope] of scopes.entries()) tracker.addPeer(slot, scope);
    return tracker;
  }

  /** Forgets all flows and fragments; the peers, by their owners, are known to have been there. */
  restart(scopes: readonly string[] = ['0', '1', '2']): void {
    this.tracker = this.#begin(scopes);
    for (const slot of scopes.keys()) this.tracker.doubt(slot, 180 * SECOND);
  }

  rules(scope: string, ...rules: RuleConfig[]): void {
    this.#say(scope, rules);
  }

  /** What becomes of a packet; who sends it and who is sent it follows from its addresses. */
  judge(bytes: Uint8Array): ReasonName {
    const packet = new InnerPacket();
    const view = viewOf(bytes);
    const unreadable = parseInner(view, 0, bytes.length, packet);
    if (unreadable !== reasons.none) return reasonNames[unreadable]!;
    const isIpv4 = bytes[0]! >> 4 === 4;
    const [at, length] = isIpv4 ? [12, 4] : [8, 16];
    const textOf = (start: number): string => peerText(bytes.subarray(start, start + length));
    const [from, to] = [sideOf(textOf(at)), sideOf(textOf(at + length))];
    if (!this.keepsTurn) this.tracker.begin(this.now, this.now);
    const reason =
      from === 'tun'
        ? this.tracker.toPeer(view, 0, packet, to as number)
        : this.tracker.fromPeer(view, 0, packet, from, to === 'tun' ? NO_PEER : to);
    return reasonNames[reason]!;
  }

  all(...packets: Uint8Array[]): ReasonName[] {
    return packets.map((packet) => this.judge(packet));
  }

  hits(): string[] {
    return told(this.filter.takeHits())
      .map(({ id, packets, bytes }) => `${id}: ${packets}, ${bytes}`)
      .sort();
  }
}

/** The text of a peer's address, anything else for another one. */
function peerText(bytes: Uint8Array): string {
  const last = bytes.at(-1)!;
  if (bytes.length === 4) return bytes[0] === 10 ? `10.0.0.${last}` : 'outside';
  return bytes[0] === 0xfd ? `fd00::${last}` : 'outside';
}

const SYN = 0x02;
const ACK = 0x10;
const RST = 0x04;
const FIN = 0x01;
const device = '10.0.0.2';
const other = '10.0.0.3';
const host = '192.0.2.1';

/** Two ends of a TCP connection: what each of them sends, by flags. */
function connection(
  client: string,
  server: string,
): { ask: (flags: number) => Uint8Array; answer: (flags: number) => Uint8Array } {
  return {
    ask: (flags) =>
      tcp({ source: client, destination: server, sourcePort: 40_000, destinationPort: 80, flags }),
    answer: (flags) =>
      tcp({ source: server, destination: client, sourcePort: 80, destinationPort: 40_000, flags }),
  };
}

/** The same for datagrams. */
function exchange(client: string, server: string): { ask: Uint8Array; answer: Uint8Array } {
  return {
    ask: udp({ source: client, destination: server, sourcePort: 40_000, destinationPort: 53 }),
    answer: udp({ source: server, destination: client, sourcePort: 53, destinationPort: 40_000 }),
  };
}

/** An ICMP error from `source` that quotes the beginning of a packet. */
function errorAbout(quoted: Uint8Array, source: string, destination: string): Uint8Array {
  const isIpv6 = source.includes(':');
  const payload = concat(new Uint8Array(8), quoted.subarray(0, isIpv6 ? 56 : 28));
  payload[0] = isIpv6 ? 1 : 3;
  return ip({ source, destination, protocol: isIpv6 ? 58 : 1, payload });
}

function echoReply(source: string, destination: string): Uint8Array {
  const bytes = echoRequest(source, destination);
  if (source.includes(':')) bytes[40] = 129;
  else bytes[20] = 0;
  return bytes;
}

const dropAll = [rule('4', 'drop', '0.0.0.0/0'), rule('6', 'drop', '::/0')];

// ---- who opened it ---------------------------------------------------------------------------

const places = [
  ['the LAN', device, host],
  ['the LAN over IPv6', 'fd00::2', '2001:db8::1'],
  ['another device', device, other],
  ['another device over IPv6', 'fd00::2', 'fd00::3'],
] as const;

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
  t.is(bench.tracker.toPeer(viewOf(forged.ask), 0, packet, 0), reasons.none);
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

// ---- lifetimes -------------------------------------------------------------------------------

test('UDP is remembered for 180 s after its last packet, either way', (t) => {
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
  test(`after ${title} a connection is remembered for 10 s, whatever still comes`, (t) => {
    const bench = new Bench({ default: 'drop' });
    const { ask, answer } = connection(host, device);
    bench.all(ask(SYN), answer(SYN | ACK), ask(ACK), ...asked.map(ask), ...answered.map(answer));
    bench.now += 10 * SECOND - 1;
    t.deepEqual(bench.all(ask(ACK), answer(ACK)), ['none', 'none']);
    bench.now += 1;
    t.is(bench.judge(answer(ACK)), 'default_drop');
  });
}

test('a connection that one side has ended may go on the other way', (t) => {
  const bench = new Bench({ default: 'drop' });
  const { ask, answer } = connection(host, device);
  bench.all(ask(SYN), answer(SYN | ACK), ask(ACK), ask(FIN | ACK));
  bench.now += HOUR;
  t.is(bench.judge(answer(ACK)), 'none');
});

test('ports that were just used may be used again, by either side', (t) => {
  const bench = new Bench();
  const { ask, answer } = connection(device, host);
  bench.all(ask(SYN), answer(SYN | ACK), ask(ACK), ask(FIN | ACK), answer(FIN | ACK));
  t.deepEqual(bench.all(ask(SYN), answer(SYN | ACK), ask(ACK)), ['none', 'none', 'none']);
  bench.now += HOUR;
  bench.rules('0', ...dropAll);
  t.is(bench.judge(answer(ACK)), 'rule_drop', 'the new connection stands under the rules');
});

// ---- what was forgotten ------------------------------------------------------------------------

/** Makes the device open and hold so many conversations elsewhere. */
function openElsewhere(bench: Bench, count: number): void {
  for (let i = 0; i < count; i++) {
    const ends = { source: device, destination: '192.0.2.9', sourcePort: 1 + i };
    bench.judge(udp({ ...ends, destinationPort: 7 }));
    const back = { source: '192.0.2.9', destination: device, destinationPort: 1 + i };
    bench.judge(udp({ ...back, sourcePort: 7 }));
  }
}

for (const [title, mine, theirs] of places) {
  test(`a restart does not let a device go on with ${title} in what its rules refuse`, (t) => {
    const bench = new Bench();
    const { ask, answer } = exchange(mine, theirs);
    bench.all(ask, answer);
    bench.rules('0', ...dropAll);
    t.deepEqual(bench.all(ask, answer), ['rule_drop', 'rule_drop']);
    bench.restart();
    t.deepEqual(bench.all(answer, ask, answer, ask), dropped(4));
    // And so it stays for as long as either side goes on.
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

test('a rule that comes after a restart ends what the device had before it', (t) => {
  const bench = new Bench();
  const { ask, answer } = exchange(device, host);
  bench.all(ask, answer);
  bench.restart();
  t.deepEqual(bench.all(answer, ask), ['none', 'none']);
  bench.rules('0', ...dropAll);
  t.deepEqual(bench.all(answer, ask), dropped(2));
});

test('who opens towards a device after the doubt is answered whatever its rules say', (t) => {
  const bench = new Bench();
  bench.rules('0', ...dropAll);
  bench.restart();
  const { ask, answer } = exchange(host, device);
  t.is(bench.judge(ask), 'rule_drop');
  bench.now += 180 * SECOND;
  t.deepEqual(bench.all(ask, answer), ['none', 'none']);
});

test('what shows that it begins is in no doubt: TCP and ping', (t) => {
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

test('between two devices in doubt the rules of both hold', (t) => {
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

test('a first fragment that is refused in doubt takes its later ones with it', (t) => {
  const bench = new Bench();
  bench.rules('1', rule('dns', 'drop', device, { type: 'udp', first: 4_000 }));
  bench.restart();
  const ends = { source: device, destination: other, sourcePort: 4_000, identification: 9 };
  const first = udp({ ...ends, destinationPort: 53, data: new Uint8Array(8), fragment: 0x2000 });
  const payload = new Uint8Array(16);
  const later = ip({ ...ends, protocol: 17, payload, fragment: 2 });
  t.deepEqual(bench.all(first, later), dropped(2));
});

for (const [title, isKnown] of [
  ['that is known to be refused', true],
  ['that a new rule refuses and nobody has looked at since', false],
] as const) {
  test(`a conversation ${title} does not go on because it had to give way`, (t) => {
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

test('what gives way to others is in doubt too, and only until it would have ended', (t) => {
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

// ---- fragments -------------------------------------------------------------------------------

const dns = { source: device, destination: host, destinationPort: 53, identification: 9 };
const firstFragment = udp({ ...dns, data: new Uint8Array(8), fragment: 0x2000 });

function laterFragment(identification = 9, offset = 2): Uint8Array {
  const payload = new Uint8Array(16);
  const fields = { source: device, destination: host, protocol: 17, payload };
  return ip({ ...fields, identification, fragment: offset });
}

test('later fragments follow their first, where ports decide', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('dns', 'accept', host, { type: 'udp', first: 53 }));
  t.is(bench.judge(laterFragment()), 'inner_fragment_unsafe', 'before the first');
  t.deepEqual(bench.all(firstFragment, laterFragment(), laterFragment()), ['none', 'none', 'none']);
  t.is(bench.judge(laterFragment(10)), 'inner_fragment_unsafe', 'of another datagram');
  t.deepEqual(bench.hits(), ['dns: 3, 108']);
});

test('later fragments follow their first into the dark as well', (t) => {
  const bench = new Bench();
  bench.rules('0', rule('dns', 'drop', host, { type: 'udp', first: 53 }));
  t.deepEqual(bench.all(firstFragment, laterFragment()), ['rule_drop', 'rule_drop']);
  t.deepEqual(bench.hits(), ['dns: 2, 72']);
});

test('fragments of a reply pass as the reply does', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.judge(udp({ source: host, destination: device, sourcePort: 53, destinationPort: 4_000 }));
  t.deepEqual(bench.all(firstFragment, laterFragment()), ['none', 'none']);
  bench.rules('0', ...dropAll);
  t.deepEqual(bench.all(laterFragment(), firstFragment), ['none', 'none']);
});

test('a change of rules holds for later fragments whose first came before it', (t) => {
  const bench = new Bench();
  bench.judge(firstFragment);
  bench.rules('0', rule('web', 'drop', host, { type: 'tcp', first: 80 }));
  t.is(bench.judge(laterFragment()), 'none', 'still allowed: nobody loses a datagram in transit');
  bench.rules('0', rule('dns', 'drop', host, { type: 'udp', first: 53 }));
  t.is(bench.judge(laterFragment()), 'rule_drop');
});

test('a first fragment is remembered for 30 s', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('dns', 'accept', host, { type: 'udp', first: 53 }));
  bench.judge(firstFragment);
  bench.now += 30 * SECOND - 1;
  t.is(bench.judge(laterFragment()), 'none');
  bench.now += 1;
  t.is(bench.judge(laterFragment()), 'inner_fragment_unsafe');
});

test('a first fragment says nothing for the device that has the address next', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('dns', 'accept', host, { type: 'udp', first: 53 }));
  bench.judge(firstFragment);
  bench.tracker.removePeer(0);
  bench.tracker.addPeer(0, '0');
  t.is(bench.judge(laterFragment()), 'inner_fragment_unsafe');
});

test('IPv6 fragments are told apart by 32 bits', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('dns', 'accept', '::/0', { type: 'udp', first: 53 }));
  const six = { source: 'fd00::2', destination: '2001:db8::1', destinationPort: 53 };
  const fragment = (offset: number, id: number): Uint8Array =>
    udp({
      ...six,
      data: new Uint8Array(16),
      extensions: [fragmentHeader(offset, offset === 0, id)],
    });
  t.deepEqual(bench.all(fragment(0, 0x1_0007), fragment(3, 0x1_0007), fragment(3, 7)), [
    'none',
    'none',
    'inner_fragment_unsafe',
  ]);
});

// RFC 3128: behind an extension header the ports may lie where a later fragment can overwrite them.
test('a later fragment may not overwrite what was judged in the first', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('web', 'accept', '::/0', { type: 'tcp', first: 80 }));
  const six = { source: 'fd00::2', destination: '2001:db8::1' };
  const options = { type: 60, body: new Uint8Array(7) };
  const first = tcp({
    ...six,
    destinationPort: 80,
    extensions: [fragmentHeader(0, true), options],
  });
  // Whether it names the first one's options, as it must, or TCP, or what there is not.
  for (const protocol of [60, 6, 253]) {
    const later = (offset: number): Uint8Array =>
      ip({
        ...six,
        protocol,
        payload: new Uint8Array(24),
        extensions: [fragmentHeader(offset, false)],
      });
    t.is(bench.judge(first), 'none');
    t.is(bench.judge(later(2)), 'inner_fragment_unsafe');
    t.is(bench.judge(later(3)), 'inner_fragment_unsafe');
    t.is(bench.judge(later(4)), 'none');
    // After a change of the rules it is judged by what the first one was, too.
    bench.rules('0', rule('web', 'drop', '::/0', { type: 'tcp', first: 80 }));
    t.is(bench.judge(later(4)), 'rule_drop');
    bench.rules('0', rule('web', 'accept', '::/0', { type: 'tcp', first: 80 }));
  }
});

test('a later IPv6 fragment without its first hides no port behind another header', (t) => {
  const bench = new Bench();
  bench.rules('0', rule('web', 'drop', '::/0', { type: 'tcp', first: 80 }));
  for (const protocol of [60, 253])
    t.is(
      bench.judge(
        ip({
          source: 'fd00::2',
          destination: '2001:db8::1',
          protocol,
          payload: new Uint8Array(24),
          extensions: [fragmentHeader(4, false)],
        }),
      ),
      'inner_fragment_unsafe',
    );
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

test('the hits of a global rule are counted there', (t) => {
  const bench = new Bench({ default: 'drop' });
  bench.rules('0', rule('own', 'accept', '198.51.100.0/24'));
  bench.rules(GLOBAL_SCOPE, rule('global', 'accept', '0.0.0.0/0'));
  const { ask } = exchange(device, host);
  bench.all(ask, ask, ask);
  t.deepEqual(bench.hits(), ['global: 3, 84']);
});

// ---- bounds and cost -------------------------------------------------------------------------

test('a device that opens without end loses its own oldest, and nobody else any', (t) => {
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
  const later = laterFragment();
  const views = [ask(ACK), answer(ACK), six, firstFragment, later].map(viewOf);
  const packet = new InnerPacket();
  t.true(
    bytesPerCall(() => {
      bench.tracker.begin(20_000.5, 1_700_000_000_000.5);
      for (const view of views) {
        parseInner(view, 0, view.byteLength, packet);
        if (packet.source0 === 0x0a000002 || packet.version === 6)
          bench.tracker.fromPeer(view, 0, packet, 0, NO_PEER);
        else bench.tracker.toPeer(view, 0, packet, 0);
      }
    }) < 1,
  );
});

test('opening flows allocates nothing, also when others have to go for them', (t) => {
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
      bench.tracker.fromPeer(view, 0, packet, 0, NO_PEER);
    }) < 1,
  );
  t.is(bench.tracker.flows.live, 64);
});

// ---- the slow twin ---------------------------------------------------------------------------

const peerAddresses = {
  4: ['10.0.0.2', '10.0.0.3', '10.0.0.4'],
  6: ['fd00::2', 'fd00::3', 'fd00::4'],
};
const hosts = { 4: ['192.0.2.1', '192.0.2.2'], 6: ['2001:db8::1', '2001:db8::2'] };

/** Few addresses, ports and identifiers, so that packets meet again and again. */
const anyDescribed: fc.Arbitrary<Described> = fc
  .record({
    family: fc.constantFrom(4 as const, 4 as const, 6 as const),
    peer: fc.nat(2),
    far: fc.nat(4),
    outward: fc.boolean(),
    protocol: fc.constantFrom(6, 6, 17, 17, 1, 47),
    ports: fc.tuple(fc.constantFrom(40, 41), fc.constantFrom(53, 80)),
    swap: fc.boolean(),
    flags: fc.constantFrom('S', 'S', 'SA', 'A', 'A', 'A', 'FA', 'R'),
    echo: fc.constantFrom('request' as const, 'reply' as const),
    fragment: fc.constantFrom('whole', 'whole', 'whole', 'whole', 'first', 'later') as fc.Arbitrary<
      Described['fragment']
    >,
    identification: fc.nat(2),
    fragmentOffset: fc.integer({ min: 1, max: 4 }),
  })
  .map((fields): Described => {
    const { family, peer } = fields;
    const far = [...hosts[family], ...peerAddresses[family].filter((_, i) => i !== peer)][
      fields.far % 4
    ]!;
    const near = peerAddresses[family][peer]!;
    const outward = fields.outward;
    const [source, destination] = outward ? [near, far] : [far, near];
    const isPing = fields.protocol === 1;
    const hasPorts = fields.protocol === 6 || fields.protocol === 17;
    const isTcp = fields.protocol === 6;
    const ports = fields.swap ? [...fields.ports].reverse() : fields.ports;
    const [sourcePort, destinationPort] = hasPorts ? (ports as [number, number]) : [0, 0];
    return {
      from: sideOf(source),
      to: sideOf(destination),
      source,
      destination,
      protocol: isPing && family === 6 ? 58 : fields.protocol,
      sourcePort,
      destinationPort,
      flags: isTcp ? fields.flags : '',
      echo: isPing && fields.fragment !== 'later' ? fields.echo : null,
      fragment: fields.fragment,
      identification: fields.identification,
      // A TCP fragment at offset 8 does not reach the filter.
      fragmentOffset: isTcp ? Math.max(2, fields.fragmentOffset) : fields.fragmentOffset,
      quotes: null,
    };
  });

/** The packet of a description. */
function bytesOf(packet: Described): Uint8Array {
  const isIpv6 = packet.source.includes(':');
  const { source, destination, fragment, identification } = packet;
  const offset = fragment === 'later' ? packet.fragmentOffset : 0;
  const isFragment = fragment !== 'whole';
  const extras = isIpv6
    ? {
        extensions: isFragment
          ? [fragmentHeader(offset, fragment === 'first', identification)]
          : [],
      }
    : { identification, fragment: fragment === 'first' ? 0x2000 : offset };
  const fields = { source, destination, protocol: packet.protocol, ...extras };
  if (packet.quotes !== null) return errorAbout(bytesOf(packet.quotes), source, destination);
  if (fragment === 'later') return ip({ ...fields, payload: new Uint8Array(24) });
  const ports = { sourcePort: packet.sourcePort, destinationPort: packet.destinationPort };
  switch (packet.protocol) {
    case 6: {
      return tcp({ ...fields, ...ports, flags: flagsOf(packet.flags) });
    }
    case 17:
      return udp({ ...fields, ...ports });
    case 47:
      return ip({ ...fields, payload: new Uint8Array(24) });
    default: {
      const payload = new Uint8Array(16);
      payload[0] = isIpv6
        ? packet.echo === 'request'
          ? 128
          : 129
        : packet.echo === 'request'
          ? 8
          : 0;
      payload[5] = 77;
      return ip({ ...fields, payload });
    }
  }
}

const anyRange = fc.constantFrom(
  '0.0.0.0/0',
  '192.0.2.0/24',
  '192.0.2.1',
  '10.0.0.0/24',
  '10.0.0.3',
  '::/0',
  '2001:db8::1',
  'fd00::/64',
);
const anyPorts = fc.constantFrom(
  undefined,
  undefined,
  { type: 'udp' as const, first: 53 },
  { type: 'tcp' as const, first: 80 },
  { type: 'tcp' as const, first: 40, last: 53 },
);
const anyRules = fc.array(
  fc.tuple(fc.constantFrom('accept' as const, 'drop' as const), anyRange, anyPorts),
  {
    maxLength: 4,
  },
);

type Step =
  | { type: 'packet'; packet: Described }
  | { type: 'error'; about: number; from: number }
  | { type: 'again'; about: number }
  | { type: 'back'; about: number }
  | { type: 'tail'; about: number; offset: number; header: number }
  | { type: 'wait'; ms: number }
  | {
      type: 'rules';
      scope: string;
      rules: readonly (readonly ['accept' | 'drop', string, Parameters<typeof rule>[3]])[];
    }
  | { type: 'default'; action: 'accept' | 'drop' }
  | { type: 'move'; peer: number; scope: string }
  | { type: 'forget'; peer: number; family: 4 | 6 }
  | { type: 'restart' };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ type: fc.constant('packet' as const), packet: anyDescribed }),
  },
  { weight: 12, arbitrary: fc.record({ type: fc.constant('again' as const), about: fc.nat(12) }) },
  { weight: 16, arbitrary: fc.record({ type: fc.constant('back' as const), about: fc.nat(6) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('error' as const),
      about: fc.nat(6),
      from: fc.nat(5),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('tail' as const),
      about: fc.nat(6),
      offset: fc.integer({ min: 2, max: 4 }),
      // What it says of its protocol over IPv6: the truth, its first header's options, or a lie.
      header: fc.constantFrom(0, 60, 17),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 9_999, 10_000, 29_999, 30_000, 120_000, 179_999, 180_000, 7_440_000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('rules' as const),
      scope: fc.constantFrom('', '0', '1', '2', 'x'),
      rules: anyRules,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('default' as const),
      action: fc.constantFrom('accept' as const, 'drop' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('move' as const),
      peer: fc.nat(2),
      scope: fc.constantFrom('0', '1', 'x'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('forget' as const),
      peer: fc.nat(2),
      family: fc.constantFrom(4 as const, 6 as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('restart' as const) }) },
);

/** The packet that answers a packet. */
function turned(packet: Described): Described {
  return {
    ...packet,
    from: packet.to,
    to: packet.from,
    source: packet.destination,
    destination: packet.source,
    sourcePort: packet.destinationPort,
    destinationPort: packet.sourcePort,
    flags: packet.flags === 'S' ? 'SA' : packet.flags,
    echo: packet.echo === 'request' ? 'reply' : packet.echo,
  };
}

/** A later fragment of the datagram that a packet begins. */
function tailOf(packet: Described, fragmentOffset: number, header: number): Described {
  const protocol = packet.source.includes(':') && header !== 0 ? header : packet.protocol;
  return { ...packet, protocol, fragment: 'later', fragmentOffset, echo: null };
}

/** Both filters side by side. */
class Pair {
  readonly bench: Bench;
  readonly slow: SlowTracker;
  readonly seen: Described[] = [];
  /** How often what happened. */
  readonly met = new Map<string, number>();
  #ruleNumber = 0;
  #isBatch = false;

  constructor(defaultAction: 'accept' | 'drop') {
    this.bench = new Bench({ default: defaultAction });
    this.slow = new SlowTracker(defaultAction);
    for (const peer of [0, 1, 2]) this.slow.scopes.set(peer, `${peer}`);
  }

  /** Takes a step with both; a text tells where they differ. */
  take(step: Step): string | null {
    const { bench, slow } = this;
    if (!('about' in step) && step.type !== 'packet') this.#isBatch = false;
    const known = 'about' in step ? this.seen.at(-1 - step.about) : undefined;
    switch (step.type) {
      case 'packet':
        return this.#judge(step.packet);
      case 'again':
        return known === undefined ? null : this.#judge(known);
      case 'back':
        return known === undefined || (known.from === 'tun' && known.to === 'tun')
          ? null
          : this.#judge(turned(known));
      case 'tail':
        return known?.fragment === 'first'
          ? this.#judge(tailOf(known, step.offset, step.header))
          : null;
      case 'error':
        return known === undefined ? null : this.#judgeError(known, step.from);
      case 'wait':
        bench.now += step.ms;
        return null;
      case 'rules': {
        const rules = step.rules.map(([action, range, ports]) =>
          rule(`${this.#ruleNumber++}`, action, range, ports),
        );
        bench.rules(step.scope, ...rules);
        if (step.scope === '') slow.global = rules;
        else slow.rules.set(step.scope, rules);
        slow.version++;
        return null;
      }
      case 'default':
        bench.filter.setDefault(step.action);
        slow.defaultAction = step.action;
        slow.version++;
        return null;
      case 'move':
        bench.tracker.moveToScope(step.peer, step.scope);
        if (slow.scopes.get(step.peer) !== step.scope) slow.version++;
        slow.scopes.set(step.peer, step.scope);
        return null;
      case 'forget':
        bench.tracker.forgetAddress(step.peer, step.family);
        slow.forget(step.peer, step.family);
        return null;
      case 'restart':
        slow.now = bench.now;
        slow.restart();
        bench.restart([...slow.scopes.values()]);
        return null;
    }
  }

  #meet(packet: Described, reason: ReasonName): void {
    const meet = (what: string): void => void this.met.set(what, (this.met.get(what) ?? 0) + 1);
    meet(reason);
    const alone = this.slow.byRules({ ...packet, fragment: 'whole' });
    if (reason === 'none' && alone !== 'none') meet('freed');
    if (reason !== 'none' && packet.from === 'tun') meet('refused');
    if (reason === 'none' && packet.fragment === 'later' && packet.from !== 'tun')
      if (this.slow.byRules(packet) === 'inner_fragment_unsafe') meet('followed');
  }

  #judgeError(about: Described, from: number): string | null {
    if (about.fragment === 'later' || about.quotes !== null) return null;
    const family = about.source.includes(':') ? 6 : 4;
    const senders = [
      about.destination,
      about.destination,
      about.destination,
      ...hosts[family],
      peerAddresses[family][0]!,
    ];
    const source = senders[from]!;
    const error: Described = {
      ...turned(about),
      from: sideOf(source),
      source,
      protocol: family === 4 ? 1 : 58,
      echo: null,
      flags: '',
      fragment: 'whole',
      quotes: about,
    };
    if ((error.from === 'tun' && error.to === 'tun') || error.from === error.to) return null;
    return this.#judge(error);
  }

  #judge(packet: Described): string | null {
    this.seen.push(packet);
    const { bench, slow } = this;
    // Packets between which nothing else happens come in one batch.
    bench.keepsTurn = this.#isBatch;
    this.#isBatch = true;
    slow.now = bench.now;
    const reason = bench.judge(bytesOf(packet));
    const wanted = slow.judge(packet);
    const hits = told(bench.filter.takeHits());
    this.#meet(packet, reason);
    const isCounted = hits.length === Math.min(1, wanted.rules.length);
    if (reason === wanted.reason && isCounted && hits.every(({ id }) => wanted.rules.includes(id)))
      return null;
    return JSON.stringify({ packet, reason, hits, wanted });
  }
}

// No shrinking: a course is a history, and the difference says what was judged in the end.
for (const defaultAction of ['accept', 'drop'] as const) {
  test(`any course of events goes as with the slow twin, where the default is ${defaultAction} at first`, (t) => {
    const courses = fc.sample(fc.array(anyStep, { minLength: 300, maxLength: 300 }), {
      ...SEEDED,
      numRuns: 400,
    });
    const met = new Map<string, number>();
    for (const [run, steps] of courses.entries()) {
      const pair = new Pair(defaultAction);
      for (const [i, step] of steps.entries()) {
        const difference = pair.take(step);
        if (difference !== null)
          return t.fail(`seed ${SEEDED.seed}, run ${run}, step ${i}: ${difference}`);
      }
      for (const [what, count] of pair.met) met.set(what, (met.get(what) ?? 0) + count);
      met.set('doubted', (met.get('doubted') ?? 0) + pair.slow.doubted);
    }
    t.log(Object.fromEntries(met));
    // The courses lead everywhere.
    const wanted = ['none', 'rule_drop', 'inner_fragment_unsafe', 'freed', 'refused', 'followed'];
    for (const what of [...wanted, 'doubted']) t.true((met.get(what) ?? 0) > 50, what);
  });
}

test('the addresses of this file are who they say', (t) => {
  t.deepEqual([sideOf('10.0.0.2'), sideOf('fd00::4'), sideOf(host)], [0, 2, 'tun']);
  t.is(peerText(address('fd00::3')), 'fd00::3');
});
