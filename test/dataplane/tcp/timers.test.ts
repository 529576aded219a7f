// Deadlines (RFC 9293, 3.10.8): retransmission, windows that stay closed, delayed acknowledgements,
// keepalives, silence. Those of handshakes are in handshake.test.ts, TIME-WAIT in receive.test.ts.

import test from 'ava';
import { OPEN, OPEN_WITH_OPTIONS, play, type Setting } from '../../support/tcp/script.ts';

interface Row {
  readonly title: string;
  readonly lines: readonly string[];
  readonly setting?: Setting;
  readonly isGone?: true;
}

const NO_KEEPALIVE: Setting = { options: { keepaliveMs: 0 } };
const KEEPALIVE: Setting = { options: { keepaliveMs: 60_000 } };

/** Doubling from 300 ms (RTT 100 ms, variation 200 ms), at most a minute. */
const TIMEOUTS = [300, 600, 1_200, 2_400, 4_800, 9_600, 19_200, 38_400];
const MINUTES = Array.from({ length: 7 }, () => 60_000);

/** Probes of a closed window that are all answered, for more than 15 minutes. */
const LONG_CLOSED = [...TIMEOUTS, ...MINUTES, ...MINUTES].flatMap((ms) => [
  `+${ms}`,
  '> A 0(0) ack 1',
  '< A 1(0) ack 1 win 0 <ts 300>',
]);

const rows: readonly Row[] = [
  {
    title:
      'a segment without an answer is sent again after the timeout, each time later (RFC 6298)',
    lines: [
      '< S 0(0) win 20000 <mss 1000>',
      '= asked',
      'accept',
      '> SA 0(0)',
      '+100',
      '< A 1(0) ack 1 win 20000',
      '= opened',
      'send 10',
      '> PA 1(10)',
      '+299',
      '+1',
      '> PA 1(10)',
      '+599',
      '+1',
      '> PA 1(10)',
      '+1200',
      '> PA 1(10)',
      '< A 1(0) ack 11',
      '+3600000',
    ],
    setting: NO_KEEPALIVE,
  },
  {
    title: 'a side that never answers is given up (RFC 9293, 3.8.3: R2)',
    lines: [
      '< S 0(0) win 20000 <mss 1000>',
      '= asked',
      'accept',
      '> SA 0(0)',
      '+100',
      '< A 1(0) ack 1 win 20000',
      '= opened',
      'send 10',
      '> PA 1(10)',
      ...[...TIMEOUTS, ...MINUTES].flatMap((ms) => [`+${ms}`, '> PA 1(10)']),
      '+60000',
      '= ended silent',
    ],
    isGone: true,
  },
  {
    title: 'a FIN without an answer is sent again',
    lines: [...OPEN, 'close', '> FPA 1(0)', '+201', '> FPA 1(0)', '< A 1(0) ack 2'],
  },
  {
    title: 'a closed window is probed, and stays closed for ever if it is answered for (MUST-37)',
    lines: [
      ...OPEN_WITH_OPTIONS,
      '< A 1(0) ack 1 win 0 <ts 300>',
      'send 10',
      ...[
        300,
        600,
        1_200,
        2_400,
        4_800,
        9_600,
        19_200,
        38_400,
        ...MINUTES,
        ...MINUTES,
        ...MINUTES,
      ].flatMap((ms) => [`+${ms}`, '> A 0(0) ack 1', '< A 1(0) ack 1 win 0 <ts 300>']),
      '< A 1(0) ack 1 win 10 <ts 300>',
      '> PA 1(10) ack 1',
      '< A 1(0) ack 11 win 10 <ts 300>',
      '+1000',
    ],
  },
  {
    title: 'probes of a window without any answer end the connection',
    lines: [
      ...OPEN_WITH_OPTIONS,
      '< A 1(0) ack 1 win 0 <ts 300>',
      'send 10',
      ...[...TIMEOUTS, ...MINUTES].flatMap((ms) => [`+${ms}`, '> A 0(0) ack 1']),
      '+60000',
      '= ended silent',
    ],
    isGone: true,
  },
  {
    title: 'a silly window is not filled at first (RFC 9293, 3.8.6.2.1), and is in the end',
    lines: [
      ...OPEN_WITH_OPTIONS,
      '< A 1(0) ack 1 win 1 <ts 300>',
      'send 5000',
      '+299',
      '+1',
      '> A 1(128) ack 1',
      '< A 1(0) ack 129 win 1 <ts 300>',
      '+350',
      '> A 129(128) ack 1',
    ],
  },
  {
    title: 'what was in flight when a window closed is sent again soon after it opens',
    lines: [
      ...OPEN_WITH_OPTIONS,
      'send 10',
      '> PA 1(10)',
      '< A 1(0) ack 1 win 0 <ts 300>',
      ...[...TIMEOUTS, ...MINUTES, ...MINUTES].flatMap((ms) => [
        `+${ms}`,
        '> PA 1(10)',
        '< A 1(0) ack 1 win 0 <ts 300>',
      ]),
      '< A 1(0) ack 1 win 10 <ts 300>',
      '+299',
      '+1',
      '> PA 1(10)',
      '< A 1(0) ack 11 win 10 <ts 300>',
      '+1000',
    ],
  },
  {
    title: 'after a window was closed for long, a first loss is not the last one',
    lines: [
      ...OPEN_WITH_OPTIONS,
      '< A 1(0) ack 1 win 0 <ts 300>',
      'send 10',
      ...LONG_CLOSED,
      '< A 1(0) ack 1 win 10 <ts 300>',
      '> PA 1(10)',
      '+299',
      '+1',
      '> PA 1(10)',
      '< A 1(0) ack 11 win 10 <ts 300>',
      '+1000',
    ],
  },
  {
    title: 'an owner that has closed both directions does not wait for a closed window for ever',
    lines: [
      ...OPEN_WITH_OPTIONS,
      '< A 1(0) ack 1 win 0 <ts 300>',
      'send 10',
      'release',
      ...LONG_CLOSED.slice(0, 3 * 8),
      '+60000',
    ],
    isGone: true,
  },
  {
    title: 'an acknowledgement waits at most 40 ms',
    lines: [
      ...OPEN,
      ...Array.from({ length: 16 }, (_, i) => [
        `< PA ${1 + i}(1) ack 1`,
        '= took 1',
        `> A 1(0) ack ${2 + i}`,
      ]).flat(),
      '< PA 17(1) ack 1',
      '= took 1',
      '+39',
      '+1',
      '> A 1(0) ack 18',
    ],
  },
  {
    title: 'text takes the acknowledgement along',
    lines: [
      ...OPEN,
      ...Array.from({ length: 16 }, (_, i) => [
        `< PA ${1 + i}(1) ack 1`,
        '= took 1',
        `> A 1(0) ack ${2 + i}`,
      ]).flat(),
      '< PA 17(1) ack 1',
      '= took 1',
      'send 3',
      '> PA 1(3) ack 18',
      '+100',
    ],
  },
  {
    title: 'keepalives: one after a minute of silence; nine without an answer are the end',
    lines: [
      ...OPEN,
      '+59000',
      '< A 1(0) ack 1',
      '+59999',
      '+1',
      '> A 0(0) ack 1',
      '< A 1(0) ack 1',
      '+60000',
      ...Array.from({ length: 9 }, () => ['> A 0(0) ack 1', '+60000']).flat(),
      '= ended silent',
    ],
    setting: KEEPALIVE,
    isGone: true,
  },
  {
    title: 'no keepalive is sent for two hours',
    lines: [...OPEN, '+7199999', '+1', '> A 0(0) ack 1'],
  },
  { title: 'and none at all where they are off', lines: [...OPEN, '+1e9'], setting: NO_KEEPALIVE },
  {
    title: 'an owner that has closed both directions waits a minute for the FIN',
    lines: [...OPEN, 'release', '> FPA 1(0)', '< A 1(0) ack 2', '+59999', '+1'],
    isGone: true,
  },
];

for (const { title, lines, setting, isGone } of rows)
  test(title, (t) => {
    const script = play(lines, setting);
    t.is(script.isGone(), isGone === true);
  });

test('an idle connection has no deadline, where keepalives are off', (t) => {
  const script = play([...OPEN], NO_KEEPALIVE);
  // The wheel may look once more at what was due before.
  script.run('+10000');
  t.is(script.station.machine.deadline, Number.POSITIVE_INFINITY);
});
