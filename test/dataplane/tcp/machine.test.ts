// The calls of the user: each of RFC 9293, 3.10.1 to 3.10.6, in each state where it means something.

import test from 'ava';
import { complete, writePartial } from '../../../dataplane/tcp/checksum.ts';
import { Ends } from '../../../dataplane/tcp/table.ts';
import { flagsOf, tcp, viewOf } from '../../support/dataplane/packets.ts';
import { Idle, Station } from '../../support/tcp/ends.ts';
import { OPEN, OPEN_WITH_OPTIONS, play, Script, type Setting } from '../../support/tcp/script.ts';

interface Row {
  readonly title: string;
  readonly lines: readonly string[];
  readonly setting?: Setting;
  readonly isGone?: true;
}

const CLOSE_WAIT = [...OPEN, '< FA 1(0) ack 1', '= finished', '> A 1(0) ack 2'];
const FIN_WAIT_2 = [...OPEN, 'close', '> FPA 1(0) ack 1', '< A 1(0) ack 2'];

const rows: readonly Row[] = [
  // ---- 3.10.2, SEND ----
  { title: 'SEND', lines: [...OPEN, 'send 10', '> PA 1(10) ack 1'] },
  { title: 'SEND in CLOSE-WAIT', lines: [...CLOSE_WAIT, 'send 10', '> PA 1(10) ack 2'] },
  {
    title: 'SEND of many bytes: a run, as far as the window goes',
    lines: [
      ...OPEN,
      'send 30000',
      '> A 1(10000) cut 1000',
      '< A 1(0) ack 10001 win 20000',
      '> PA 10001(20000) cut 1000',
    ],
  },
  // ---- 3.10.4, CLOSE ----
  {
    title: 'CLOSE: FIN after the last byte',
    lines: [...OPEN, 'send 3', '> PA 1(3)', 'close', '> FPA 4(0)'],
  },
  { title: 'CLOSE twice is once', lines: [...OPEN, 'close', '> FPA 1(0)', 'close'] },
  {
    title: 'CLOSE with bytes that wait for the window: FIN comes after them',
    lines: [
      ...OPEN,
      '< A 1(0) ack 1 win 1000',
      'send 1500',
      '> A 1(1000)',
      'close',
      '< A 1(0) ack 1001 win 20000',
      '> FPA 1001(500)',
    ],
  },
  { title: 'CLOSE in CLOSE-WAIT', lines: [...CLOSE_WAIT, 'close', '> FPA 1(0) ack 2'] },
  {
    title: 'half-close by the device: the owner still sends',
    lines: [...CLOSE_WAIT, 'send 5', '> PA 1(5)', '< A 2(0) ack 6', 'close', '> FPA 6(0)'],
  },
  {
    title: 'half-close by the owner: the device still sends',
    lines: [...FIN_WAIT_2, '+3000000', '< PA 1(5) ack 2', '= took 5', '> A 2(0) ack 6'],
  },
  // ---- CLOSE of both directions ----
  {
    title: 'released, then bytes of the device: RST (3.6.1)',
    lines: [...OPEN, 'release', '> FPA 1(0)', '< PA 1(5) ack 1', '> RA 2(0)'],
    isGone: true,
  },
  {
    title: 'released with bytes that were not taken: RST',
    lines: [...OPEN, 'appetite 0', '< PA 1(5) ack 1', '> A 1(0) ack 6', 'release', '> RA 1(0)'],
    isGone: true,
  },
  {
    title: 'released, then FIN of the device: TIME-WAIT',
    lines: [...OPEN, 'release', '> FPA 1(0)', '< FA 1(0) ack 2', '> A 2(0) ack 2', '+60000'],
    isGone: true,
  },
  {
    title: 'released in CLOSE-WAIT',
    lines: [...CLOSE_WAIT, 'release', '> FPA 1(0)', '< A 2(0) ack 2'],
    isGone: true,
  },
  {
    title: 'released in FIN-WAIT-2',
    lines: [...FIN_WAIT_2, 'release', '+60000'],
    isGone: true,
  },
  {
    title: 'released before the owner has answered: RST',
    lines: ['< S 0(0)', '= asked', 'release', '> RA 0(0) ack 1'],
    isGone: true,
  },
  // ---- 3.10.5, ABORT ----
  {
    title: 'ABORT: RST, and bytes are dropped',
    lines: [...OPEN, 'send 5', '> PA 1(5)', 'abort', '> RA 6(0) ack 1', '+1e7'],
    isGone: true,
  },
  {
    title: 'ABORT in CLOSE-WAIT',
    lines: [...CLOSE_WAIT, 'abort', '> RA 1(0) ack 2'],
    isGone: true,
  },
  {
    title: 'ABORT in FIN-WAIT-2',
    lines: [...FIN_WAIT_2, 'abort', '> RA 2(0) ack 1'],
    isGone: true,
  },
  {
    title: 'ABORT in SYN-RECEIVED',
    lines: ['< S 0(0)', '= asked', 'accept', '> SA 0(0)', 'abort', '> RA 1(0) ack 1'],
    isGone: true,
  },
  {
    title: 'ABORT in TIME-WAIT: nothing is sent',
    lines: [
      ...FIN_WAIT_2,
      '< FA 1(0) ack 2',
      '= finished',
      '= ended closed',
      '> A 2(0) ack 2',
      'abort',
    ],
    isGone: true,
  },
  {
    title: 'removed with its device',
    lines: [...OPEN, 'send 5', '> PA 1(5)', 'remove', '= ended by the owner'],
    isGone: true,
  },
  // ---- an allowance ----
  {
    title: 'without an allowance no bytes leave, and acknowledgements do',
    lines: [
      ...OPEN,
      'credit 0',
      'send 2000',
      '< PA 1(5) ack 1',
      '= took 5',
      '> A 1(0) ack 6',
      '+100',
      'credit 1000',
      '> A 1(1000)',
      '> PA 1001(1000)',
    ],
  },
];

for (const { title, lines, setting, isGone } of rows)
  test(title, (t) => {
    const script = play(lines, setting);
    t.is(script.isGone(), isGone === true);
  });

test('calls for a connection that has ended do nothing', (t) => {
  const script = new Script().run(...OPEN, 'remove', '= ended by the owner');
  for (const call of ['accept', 'refuse', 'forget', 'close', 'release', 'abort', 'take'])
    script.run(call);
  const { machine } = script.station;
  t.is(machine.send(script.owner.connection, Buffer.alloc(3), 0, 3), 0);
  machine.sent(script.owner.connection, 3);
  t.is(machine.stateOf(script.owner.connection), 0);
  t.is(machine.describe(script.owner.connection, new Ends()), -1);
  script.end();
});

test('STATUS, and between which ends a connection is', (t) => {
  const script = play(OPEN);
  const ends = new Ends();
  const { machine } = script.station;
  t.is(machine.describe(script.owner.connection, ends), 1);
  t.deepEqual(
    [...ends.words],
    [0xc0000201 | 0, 0, 0, 0, 0x0a000002, 0, 0, 0, (80 << 16) | 5_000, 0],
  );
  t.is(machine.stateOf(script.owner.connection), 4);
});

test('two opens between the same ends: the second one gets nothing', (t) => {
  const script = new Script().run('open', '> S 0(0)');
  const first = script.owner.connection;
  t.true(first > 0);
  script.run('open');
  t.is(script.owner.connection, 0);
});

test('a device with a smaller MTU gets smaller segments from then on', (t) => {
  const script = play([...OPEN, 'send 2000', '> PA 1(2000) cut 1000', '< A 1(0) ack 2001']);
  script.owner.mtu = 640;
  script.station.machine.mtuChanged(1);
  t.notThrows(() => script.run('send 2000', '> PA 2001(2000) cut 600'));
});

for (const [window, room] of [
  [2_000, 131_072],
  [500, 96_768],
  [0, 32_768],
] as const)
  test(`the send buffer has room for ${room} bytes at first, with a window of ${window}`, (t) => {
    const script = play([...OPEN_WITH_OPTIONS, `< A 1(0) ack 1 win ${window} <ts 201>`]);
    const { machine } = script.station;
    const bytes = Buffer.alloc(300_000);
    t.is(machine.send(script.owner.connection, bytes, 0, bytes.length), room);
    t.is(machine.send(script.owner.connection, bytes, 0, 1), 0);
  });

test('a place that is not used is given back', (t) => {
  const { station, owner } = play([...OPEN]);
  const place = { bytes: Buffer.alloc(0), offset: 0, length: 0 };
  station.machine.place(owner.connection, place);
  t.true(place.length > 0);
  station.machine.sent(owner.connection, 0);
  t.is(station.machine.bufferedBytes, 0);
});

test('without memory an idle connection asks until there is some, however long it takes', (t) => {
  const setting = { options: { poolBytes: 1_048_576 } };
  const script = play([...OPEN], setting);
  const { machine } = script.station;
  const first = script.owner.connection;
  // The send buffers of eight others are the whole share of the device.
  const others = [1, 2, 3, 4, 5, 6, 7, 8]
    .map((i) => 5_000 + i)
    .map((port) => {
      script.run(`port ${port}`, '< S 0(0) <mss 1000>', '= asked', 'again', 'accept', '> SA 0(0)');
      script.run('< A 1(0) ack 1 win 0', '= opened', 'send 32768');
      return script.owner.connection;
    });
  t.is(machine.send(first, Buffer.alloc(10), 0, 10), 0);
  script.run('+150');
  for (const other of others) machine.forget(other);
  script.run('+20', '= writable');
  t.is(machine.send(first, Buffer.alloc(10), 0, 10), 10);
});

/** A segment of a device at 10.0.0.2 without options. */
function segment(sourcePort: number, flags: string, sequence: number, text = 0): Uint8Array {
  const ends = { source: '10.0.0.2', destination: '192.0.2.1', sourcePort, destinationPort: 80 };
  const rest = { window: 65_535, options: new Uint8Array(0), data: new Uint8Array(text) };
  return tcp({ ...ends, ...rest, sequence, acknowledgement: 0, flags: flagsOf(flags) });
}

/** Writes down what it is called for, and takes from all connections while it takes from one. */
class Busy extends Idle {
  readonly connections: number[] = [];
  readonly calls: string[] = [];
  appetite = 0;
  take: (connection: number) => void = () => undefined;
  #depth = 0;

  override asked(connection: number): void {
    this.connections.push(connection);
  }
  override received(connection: number, _bytes: Buffer, _at: number, length: number): number {
    if (this.appetite === 0) return 0;
    this.calls.push(`${this.connections.indexOf(connection)} took ${length}`);
    if (this.#depth++ < 5) for (const other of this.connections) this.take(other);
    return length;
  }
  override ended(connection: number, how: number): void {
    this.calls.push(`${this.connections.indexOf(connection)} ended ${how}`);
  }
}

/** Connections of device 1 from two ports, each with five bytes that wait for the owner. */
function twoThatWait(): { owner: Busy; station: Station } {
  const owner = new Busy();
  const station = new Station(owner, 1);
  station.machine.begin(1_000);
  for (const [i, port] of [5_000, 5_001].entries()) {
    station.receive(1, segment(port, 'S', 0));
    station.machine.accept(owner.connections[i]!);
    const answer = station.make()!.bytes;
    const text = Buffer.from(segment(port, 'A', 1, 5));
    text.writeUInt32BE((answer.readUInt32BE(24) + 1) >>> 0, 28);
    text.writeUInt16BE(0, 36);
    writePartial(viewOf(text), 0, 20, text.length - 20);
    complete(viewOf(text), 20, text.length - 20);
    station.receive(1, text);
    while (station.make() !== null);
  }
  return { owner, station };
}

test('an owner that takes from others while it takes gets no byte twice', (t) => {
  const { owner, station } = twoThatWait();
  owner.take = (connection) => station.machine.take(connection);
  owner.appetite = 5;
  station.machine.take(owner.connections[0]!);
  t.deepEqual(owner.calls, ['0 took 5', '1 took 5']);
});

test('a device that has the address of another one now has none of its connections', (t) => {
  const { owner, station } = twoThatWait();
  station.receive(2, segment(5_000, 'A', 6));
  t.deepEqual(owner.calls, ['0 ended 3']);
  const { bytes, device } = station.make()!;
  t.deepEqual([device, bytes[33]], [2, 4], 'RST');
  t.is(station.machine.connections, 1);
});

test('RSTs to segments of no connection do not hold up connections', (t) => {
  const { owner, station } = twoThatWait();
  for (let port = 6_000; port < 6_100; port++) station.receive(2, segment(port, 'A', 1));
  station.machine.send(owner.connections[0]!, Buffer.alloc(5), 0, 5);
  const devices = Array.from({ length: 4 }, () => station.make()!.device);
  t.true(devices.includes(1), devices.join(', '));
  let others = devices.filter((device) => device === 2).length;
  for (let packet = station.make(); packet !== null; packet = station.make()) others++;
  t.is(others, 100, 'each is answered');
});
