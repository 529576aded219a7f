// The text that comes: holes, repetitions, an owner that takes late, the window.

import test from 'ava';
import { OPEN, OPEN_WITH_OPTIONS, play, type Setting } from '../../support/tcp/script.ts';

const OPTIONS = OPEN_WITH_OPTIONS;

interface Row {
  readonly title: string;
  readonly lines: readonly string[];
  readonly setting?: Setting;
}

const rows: readonly Row[] = [
  {
    title:
      'each segment after a hole is acknowledged at once, with SACK (RFC 2018, 4; RFC 5681, 4.2)',
    lines: [
      ...OPTIONS,
      '< PA 11(10) ack 1 <ts 200>',
      '> A 1(0) ack 1 <ts 200, sack 11 21>',
      '< PA 31(10) ack 1 <ts 200>',
      '> A 1(0) ack 1 <ts 200, sack 31 41 11 21>',
      '< PA 51(10) ack 1 <ts 200>',
      '> A 1(0) ack 1 <ts 200, sack 51 61 31 41 11 21>',
      '< PA 71(10) ack 1 <ts 200>',
      '> A 1(0) ack 1 <ts 200, sack 71 81 51 61 31 41>',
      '< PA 21(10) ack 1 <ts 200>',
      '> A 1(0) ack 1 <ts 200, sack 11 41 71 81 51 61>',
      '< PA 1(10) ack 1 <ts 201>',
      '= took 10',
      '= took 30',
      '> A 1(0) ack 41 <ts 201, sack 71 81 51 61>',
    ],
  },
  {
    title: 'what came twice is reported first (RFC 2883, 4.1)',
    lines: [
      ...OPTIONS,
      '< PA 1(10) ack 1 <ts 200>',
      '= took 10',
      '> A 1(0) ack 11',
      '< PA 1(10) ack 1 <ts 201>',
      '> A 1(0) ack 11 <ts 200, sack 1 11>',
      '< PA 31(10) ack 1 <ts 201>',
      '> A 1(0) ack 11 <ts 200, sack 31 41>',
      '< PA 31(10) ack 1 <ts 201>',
      '> A 1(0) ack 11 <ts 200, sack 31 41 31 41>',
      '< PA 5(10) ack 1 <ts 201>',
      '= took 4',
      '> A 1(0) ack 15 <ts 201, sack 5 11 31 41>',
    ],
  },
  {
    title: 'a side without SACK gets as many duplicates as segments came',
    lines: [
      ...OPEN,
      '< PA 11(10) ack 1',
      '> A 1(0) ack 1',
      '< PA 21(10) ack 1',
      '> A 1(0) ack 1 <>',
    ],
  },
  {
    title: 'what the owner does not take waits, and the window shrinks by it',
    lines: [
      ...OPTIONS,
      'appetite 4',
      '< PA 1(12800) ack 1 <ts 200>',
      '= took 4',
      '> A 1(0) ack 12801 win 412',
      'take',
      'appetite 100',
      'take',
      '= took 100',
      'appetite 20000',
      'take',
      '= took 12696',
    ],
  },
  {
    title: 'a closed window is opened again when the owner takes (RFC 9293, 3.8.6.2.2)',
    lines: [
      ...OPTIONS,
      'appetite 0',
      '< PA 1(60000) ack 1 <ts 200>',
      '> A 1(0) ack 60001',
      '< PA 60001(5535) ack 1 <ts 200>',
      '> A 1(0) ack 65536 win 1',
      'appetite 500',
      'take',
      '= took 500',
      'appetite 40000',
      'take',
      '= took 40000',
      '> A 1(0) ack 65536 win 316',
    ],
  },
  {
    title: 'released while bytes are left that were not taken: RST',
    lines: [...OPEN, 'appetite 3', 'leave', '< PA 1(5) ack 1', '= took 3', '> RA 1(0)'],
  },
];

for (const { title, lines, setting } of rows)
  test(title, (t) => {
    t.notThrows(() => play(lines, setting));
  });

test('the window grows with what the owner takes at once, up to 4 MiB', (t) => {
  const script = play([...OPTIONS], { options: { poolBytes: 64 * 1_048_576 } });
  let at = 1;
  let window = 0;
  for (let i = 0; i < 400; i++) {
    script.run(`< PA ${at}(60000) ack 1 <ts 200>`, '= took 60000', `> A 1(0) ack ${at + 60_000}`);
    at += 60_000;
    window = Math.max(window, script.lastWindow * 128);
  }
  t.true(window > 4 * 1_048_576 - 1_000 && window <= 4 * 1_048_576 + 128, `${window}`);
});

test('an owner that takes nothing has 64 KiB at most, and no device more than its share', (t) => {
  const script = play([...OPTIONS, 'appetite 0'], { options: { poolBytes: 1_048_576 } });
  script.run('< PA 1(60000) ack 1 <ts 200>', '> A 1(0) ack 60001');
  script.run('< PA 60001(5535) ack 1 <ts 200>', '> A 1(0) ack 65536');
  t.true(script.lastWindow * 128 < 256);
  t.is(script.station.machine.bufferedBytes, 65_536);
});

test('without memory bytes are not acknowledged, and come again', (t) => {
  const setting = { options: { poolBytes: 1_048_576, connections: 64 } };
  const script = play([...OPEN, 'appetite 0'], setting);
  const { machine } = script.station;
  // The share of the device is 16 chunks: the send buffer has four of them, three others are full.
  script.run('< A 1(0) ack 1 win 65535', 'send 65536', '> A 1(10000)', '< A 1(60000) ack 1');
  script.run('> A 10001(0) ack 60001');
  t.is(machine.bufferedBytes, 131_072);
  for (const port of [5_001, 5_002]) {
    script.run(`port ${port}`, '< S 0(0) <mss 1000>', '= asked', 'again', 'accept', '> SA 0(0)');
    script.run('< A 1(0) ack 1', '= opened', '< A 1(60000) ack 1', '> A 1(0) ack 60001');
  }
  t.is(machine.bufferedBytes, 262_144);
  script.run('port 5003', '< S 0(0) <mss 1000>', '= asked', 'again', 'accept', '> SA 0(0)');
  script.run('< A 1(0) ack 1', '= opened', '< A 1(100) ack 1', '> A 1(0) ack 1');
  t.is(machine.bufferedBytes, 262_144);
});

test('bytes out of order far away take no more memory than the window', (t) => {
  const script = play([...OPTIONS, '< PA 60001(1) ack 1 <ts 200>', '> A 1(0) ack 1']);
  t.true(script.station.machine.bufferedBytes <= 65_536);
  script.run('remove', '= ended by the owner');
  t.true(script.isGone());
});

test('bytes one by one at the end of the window do not move it on', (t) => {
  const script = play([...OPTIONS, 'appetite 0']);
  let at = 1;
  let count = 0;
  const come = (bytes: number): void => {
    // The first 16 are acknowledged at once.
    const wait = count++ < 16 ? [] : ['+40'];
    script.run(`< PA ${at}(${bytes}) ack 1 <ts 200>`, ...wait, `> A 1(0) ack ${at + bytes}`);
    at += bytes;
  };
  come(60_000);
  come(5_400);
  while (script.lastWindow > 0 && at < 70_000) come(1);
  t.true(at <= 1 + 65_536 + 256, `${at - 1} bytes of 65,536`);
});

test('a device whose share is used up by bytes that it gets can still send', (t) => {
  const script = play([...OPEN], { options: { poolBytes: 1_048_576 } });
  const { machine } = script.station;
  for (let port = 5_001; port <= 5_008; port++) {
    script.run(`port ${port}`, '< S 0(0) <mss 1000>', '= asked', 'again', 'accept', '> SA 0(0)');
    script.run('< A 1(0) ack 1 win 0', '= opened', 'send 32768');
  }
  t.is(machine.bufferedBytes, 262_144);
  script.run('port 5009', '< S 0(0) <mss 1000>', '= asked', 'again', 'accept');
  script.run('> SA 0(0) ack 1 win 16384', '< A 1(0) ack 1', '= opened');
  script.run('< PA 1(9000) ack 1', '= took 9000', '> A 1(0) ack 9001 win 16384');
});
