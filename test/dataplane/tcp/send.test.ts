// What leaves: segment sizes with options, runs, windows, the pace.

import test from 'ava';
import { OPEN, OPEN_WITH_OPTIONS, play, Script } from '../../support/tcp/script.ts';
import { cut, type Idle, type Station } from '../../support/tcp/ends.ts';

test('the MSS less the options: 12 bytes for timestamps (RFC 6691, 3)', (t) => {
  t.notThrows(() =>
    play([...OPEN_WITH_OPTIONS, 'send 3000', '> A 1(1976) cut 988', '+60', '> PA 1977(1024)']),
  );
});

test('and less what SACK blocks take', (t) => {
  t.notThrows(() =>
    play([
      ...OPEN_WITH_OPTIONS,
      '< PA 11(10) ack 1 <ts 200>',
      '> A 1(0) ack 1 <ts 200, sack 11 21>',
      'send 3000',
      '> A 1(1952) cut 976 <ts 200, sack 11 21>',
      '+60',
      '> PA 1953(1048)',
    ]),
  );
});

test('no segment is longer than the MTU, whatever the other side takes', (t) => {
  const lines = ['< S 0(0) <mss 9000>', '= asked', 'accept', '> SA 0(0) <mss 1240>'];
  const script = new Script({ mtu: 1_280 }).run(...lines, '< A 1(0) ack 1', '= opened');
  t.notThrows(() => script.run('send 5000', '> PA 1(5000) cut 1240'));
});

test('an MSS that is too small to be meant is not obeyed', (t) => {
  const script = new Script().run('< S 0(0) <mss 1>', '= asked', 'accept', '> SA 0(0)');
  t.notThrows(() => script.run('< A 1(0) ack 1', '= opened', 'send 100', '> PA 1(100) cut 64'));
});

test('PSH is at the end of what there is', (t) => {
  t.notThrows(() =>
    play([...OPEN, 'send 12000', '> A 1(10000)', '< A 1(0) ack 10001', '> PA 10001(2000)']),
  );
});

test('a segment that is not full waits while the window allows only a part of it', (t) => {
  t.notThrows(() =>
    play([
      ...OPEN,
      '< A 1(0) ack 1 win 1500',
      'send 2000',
      '> A 1(1000)',
      '< A 1(0) ack 1001 win 1500',
      '> PA 1001(1000)',
    ]),
  );
});

test('a window that shrinks below what is in flight does no harm (RFC 9293, MUST-34)', (t) => {
  t.notThrows(() =>
    play([
      ...OPEN,
      'send 9000',
      '> PA 1(9000)',
      '< A 1(0) ack 1001 win 1000',
      '< A 1(0) ack 9001 win 1000',
      'send 1500',
      '> A 9001(1000)',
      '< A 1(0) ack 10001 win 1000',
      '> PA 10001(500)',
    ]),
  );
});

/** A machine with one open connection, whose round trip was measured as 100 ms. */
function paced(): { station: Station; owner: Idle; connection: () => number; script: Script } {
  const script = play([...OPEN_WITH_OPTIONS]);
  const { station, owner } = script;
  return { station, owner, script, connection: () => script.owner.connection };
}

test('at the pace of the window in a round trip, twice as fast in slow start', (t) => {
  const { station, connection } = paced();
  const { machine } = station;
  machine.send(connection(), Buffer.alloc(10_000), 0, 10_000);
  const sizes: [at: number, bytes: number][] = [];
  let now = 1_100;
  for (; now < 1_160; now++) {
    machine.begin(now);
    machine.expire();
    for (let packet = station.make(); packet !== null; packet = station.make())
      sizes.push([now - 1_100, packet.bytes.length]);
  }
  const total = sizes.reduce((sum, [, bytes]) => sum + bytes, 0);
  t.true(total > 10_000);
  t.true(
    sizes.every(([, bytes]) => bytes < 2_200),
    'two segments at once',
  );
  // 10,000 bytes in 50 ms: the last pair leaves after about 40 ms.
  const last = sizes.at(-1)![0];
  t.true(last >= 35 && last <= 50, `${last} ms`);
});

test('a run is cut into segments whose bytes are all of it', (t) => {
  const script = play([...OPEN]);
  const { station, owner } = script;
  station.machine.send(
    owner.connection,
    Buffer.from(Array.from({ length: 9_500 }, (_, i) => i & 255)),
    0,
    9_500,
  );
  const packet = station.make()!;
  const pieces = cut(packet);
  t.is(pieces.length, 10);
  t.true(pieces.every((piece) => piece.length <= 1_040));
  t.is(Buffer.concat(pieces.map((piece) => piece.subarray(40))).length, 9_500);
  t.is(pieces.at(-1)![33], 0x18);
  t.is(pieces[0]![33], 0x10);
});
