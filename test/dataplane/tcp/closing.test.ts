// RST after the last byte: what the owner had sent arrives before it. The other ends of a connection
// are in machine.test.ts.

import test from 'ava';
import { OPEN, play } from '../../support/tcp/script.ts';

const rows: readonly (readonly [title: string, lines: readonly string[]])[] = [
  ['nothing is on its way: RST at once', [...OPEN, 'break', '> RA 1(0) ack 1']],
  [
    'bytes are on their way: RST when they have arrived',
    [
      ...OPEN,
      'send 5000',
      '> PA 1(5000) cut 1000',
      'break',
      '< A 1(0) ack 2001',
      '< A 1(0) ack 5001',
      '> RA 5001(0) ack 1',
    ],
  ],
  [
    'bytes wait for the window: they leave before RST',
    [
      ...OPEN,
      'send 30000',
      '> A 1(10000) cut 1000',
      'break',
      '< A 1(0) ack 10001 win 20000',
      '> PA 10001(20000) cut 1000',
      '< A 1(0) ack 30001 win 20000',
      '> RA 30001(0) ack 1',
    ],
  ],
  [
    'bytes are lost: they are sent again before RST',
    [...OPEN, 'send 5', '> PA 1(5)', 'break', '+300', '> PA 1(5)', '< A 1(0) ack 6', '> RA 6(0)'],
  ],
  [
    'what the device sends meanwhile is acknowledged and dropped',
    [
      ...OPEN,
      'appetite 0',
      '< PA 1(7) ack 1',
      '> A 1(0) ack 8',
      'send 5',
      '> PA 1(5)',
      'break',
      '< PA 8(9) ack 1',
      '> A 6(0) ack 17',
      '< FA 17(0) ack 1',
      '> A 6(0) ack 18',
      '< A 18(0) ack 6',
      '> RA 6(0) ack 18',
    ],
  ],
  [
    'the owner has closed before: FIN, and RST when the bytes have arrived',
    [...OPEN, 'send 5', '> PA 1(5)', 'close', '> FPA 6(0)', 'break', '< A 1(0) ack 6', '> RA 7(0)'],
  ],
  ['the device resets first', [...OPEN, 'send 5', '> PA 1(5)', 'break', '< R 1(0)']],
  ['before the owner has answered: RST', ['< S 0(0)', '= asked', 'break', '> RA 0(0) ack 1']],
];

for (const [title, lines] of rows)
  test(title, (t) => {
    t.true(play(lines).isGone());
  });

test('a device that answers nothing is given up in silence', (t) => {
  const script = play([...OPEN, 'send 5', '> PA 1(5)', 'break']);
  const { machine } = script.station;
  for (let { now } = script; now < 600_000 && !script.isGone(); now += 100) {
    machine.begin(now);
    machine.expire();
    while (script.station.make() !== null);
  }
  t.true(script.isGone());
});
