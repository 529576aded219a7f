// Segments of a connection: one script for each event of RFC 9293, 3.10.7.4, in its order, and those
// of RFC 5961, RFC 7323 and RFC 1337.

import test from 'ava';
import { OPEN, OPEN_WITH_OPTIONS, play, type Setting } from '../../support/tcp/script.ts';

interface Row {
  readonly title: string;
  readonly lines: readonly string[];
  readonly setting?: Setting;
  /** The connection is gone with all that it had. */
  readonly isGone?: true;
}

/** The device has sent FIN: CLOSE-WAIT. */
const CLOSE_WAIT = [...OPEN, '< FA 1(0) ack 1', '= finished', '> A 1(0) ack 2'];
/** The owner has closed: FIN-WAIT-1, then FIN-WAIT-2. */
const FIN_WAIT_1 = [...OPEN, 'close', '> FPA 1(0) ack 1'];
const FIN_WAIT_2 = [...FIN_WAIT_1, '< A 1(0) ack 2'];
const CLOSING = [...FIN_WAIT_1, '< FA 1(0) ack 1', '= finished', '> A 2(0) ack 2'];
const LAST_ACK = [...CLOSE_WAIT, 'close', '> FPA 1(0) ack 2'];
const TIME_WAIT = [
  ...FIN_WAIT_2,
  '< FA 1(0) ack 2',
  '= finished',
  '= ended closed',
  '> A 2(0) ack 2',
];
const SEVERAL: readonly (readonly [string, readonly string[]])[] = [
  ['ESTABLISHED', OPEN],
  ['FIN-WAIT-1', FIN_WAIT_1],
  ['FIN-WAIT-2', FIN_WAIT_2],
];

const rows: readonly Row[] = [
  // ---- first: the sequence number ----
  {
    title: 'a segment that came before is acknowledged again',
    lines: [
      ...OPEN,
      '< PA 1(5) ack 1',
      '= took 5',
      '> A 1(0) ack 6',
      '< PA 1(5) ack 1',
      '> A 1(0) ack 6',
    ],
  },
  {
    title: 'a segment that overlaps is cut: the new part is taken',
    lines: [
      ...OPEN,
      '< PA 1(5) ack 1',
      '= took 5',
      '> A 1(0) ack 6',
      '< PA 3(6) ack 1',
      '= took 3',
      '> A 1(0) ack 9',
    ],
  },
  {
    title: 'a segment after the window is acknowledged, not taken',
    lines: [...OPEN, '< PA 70000(5) ack 1', '> A 1(0) ack 1'],
  },
  {
    title: 'a segment that goes over the window is cut',
    lines: [
      ...OPEN,
      'appetite 0',
      '< A 1(60000) ack 1',
      '> A 1(0) ack 60001 win 5535',
      '< A 60001(5600) ack 1',
      '> A 1(0) ack 65536 win 0',
    ],
  },
  {
    title: 'a keepalive of the device is answered, once in half a second',
    lines: [
      ...OPEN,
      '< A 0(0) ack 1',
      '> A 1(0) ack 1',
      '< A 0(0) ack 1',
      '+500',
      '< A 0(0) ack 1',
      '> A 1(0) ack 1',
    ],
  },
  {
    title: 'with a closed window ACK, RST and URG still count (MUST-66)',
    lines: [
      ...OPEN,
      'appetite 0',
      '< A 1(60000) ack 1',
      '> A 1(0) ack 60001',
      '< A 60001(5536) ack 1',
      '> A 1(0) ack 65536 win 0',
      'send 10',
      '> PA 1(10) ack 65536',
      '< A 65536(1) ack 11',
      '> A 11(0) ack 65536 win 0',
      '+60000',
      '< R 65536(0)',
      '= ended reset',
    ],
    isGone: true,
  },
  // ---- urgent data (RFC 9293, 3.8.5; RFC 6093, 3.2 and 6): it is text, in its place ----
  {
    title: 'urgent data is delivered in line, wherever the pointer points',
    lines: [
      ...OPEN,
      ...[1, 5, 6, 0, 60_000].flatMap((pointer, i) => [
        `< UPA ${1 + 5 * i}(5) ack 1 urg ${pointer}`,
        '= took 5',
        `> A 1(0) ack ${6 + 5 * i}`,
      ]),
    ],
  },
  {
    title: 'a pointer without text says nothing, and its ACK counts',
    lines: [
      ...OPEN,
      'send 10',
      '> PA 1(10) ack 1',
      '< UA 1(0) ack 11 urg 9000',
      '< PA 1(5) ack 11',
      '= took 5',
      '> A 11(0) ack 6',
    ],
  },
  {
    title: 'urgent text that comes out of order, twice or with FIN is text',
    lines: [
      ...OPEN,
      '< UA 6(5) ack 1 urg 1',
      '> A 1(0) ack 1',
      '< UPA 1(5) ack 1 urg 10',
      '= took 5',
      '= took 5',
      '> A 1(0) ack 11',
      '< UA 6(5) ack 1 urg 1',
      '> A 1(0) ack 11',
      '< UFA 11(3) ack 1 urg 3',
      '= took 3',
      '= finished',
      '> A 1(0) ack 15',
    ],
  },
  {
    title: 'urgent text beyond a closed window is not taken, and what it acknowledges counts',
    lines: [
      ...OPEN,
      'appetite 0',
      '< A 1(60000) ack 1',
      '> A 1(0) ack 60001',
      '< A 60001(5536) ack 1',
      '> A 1(0) ack 65536 win 0',
      'send 10',
      '> PA 1(10) ack 65536',
      '< UPA 65536(1) ack 11 urg 1',
      '> A 11(0) ack 65536 win 0',
    ],
  },
  // ---- PAWS (RFC 7323, 5.3) ----
  {
    title: 'an old timestamp is of an old segment: acknowledged, not taken',
    lines: [...OPEN_WITH_OPTIONS, '< PA 1(5) ack 1 <ts 150>', '> A 1(0) ack 1 <ts 200>'],
  },
  {
    title: 'after 24 days it says nothing, and the new one takes its place (5.5)',
    lines: [
      ...OPEN_WITH_OPTIONS,
      '+2073700000',
      '< PA 1(5) ack 1 <ts 150>',
      '= took 5',
      '> A 1(0) ack 6 <ts 150>',
      '< PA 6(5) ack 1 <ts 149>',
      '> A 1(0) ack 6 <ts 150>',
    ],
    setting: { options: { keepaliveMs: 0 } },
  },
  {
    title: 'a segment without timestamp is dropped once they were agreed on (3.2)',
    lines: [...OPEN_WITH_OPTIONS, '< PA 1(5) ack 1'],
  },
  {
    title: 'RST needs no timestamp',
    lines: [...OPEN_WITH_OPTIONS, '< R 1(0)', '= ended reset'],
    isGone: true,
  },
  {
    title: 'the timestamp of a segment after a hole is not echoed (4.3)',
    lines: [
      ...OPEN_WITH_OPTIONS,
      '< PA 11(5) ack 1 <ts 300>',
      '> A 1(0) ack 1 <ts 200, sack 11 16>',
      '< PA 1(10) ack 1 <ts 310>',
      '= took 10',
      '= took 5',
      '> A 1(0) ack 16 <ts 310>',
    ],
  },
  // ---- second: RST (RFC 5961, 3) ----
  ...SEVERAL.map(([state, lines]) => ({
    title: `RST with the next number in ${state}`,
    lines: [...lines, '< R 1(0)', '= ended reset'],
    isGone: true as const,
  })),
  {
    title: 'RST in CLOSE-WAIT',
    lines: [...CLOSE_WAIT, '< R 2(0)', '= ended reset'],
    isGone: true,
  },
  {
    title: 'RST in CLOSING: both sides have everything',
    lines: [...CLOSING, '< R 2(0)', '= ended closed'],
    isGone: true,
  },
  {
    title: 'RST in LAST-ACK, everything was acknowledged',
    lines: [...LAST_ACK, '< R 2(0)', '= ended closed'],
    isGone: true,
  },
  {
    title: 'RST in LAST-ACK, something was not acknowledged',
    lines: [
      ...CLOSE_WAIT,
      'send 5',
      '> PA 1(5)',
      'close',
      '> FPA 6(0)',
      '< R 2(0)',
      '= ended reset',
    ],
    isGone: true,
  },
  {
    title: 'RST in TIME-WAIT is dropped (RFC 1337)',
    lines: [...TIME_WAIT, '< R 2(0)', '+59999'],
  },
  {
    title: 'RST elsewhere in the window is challenged, once in half a second (RFC 5961, 3 and 7)',
    lines: [
      ...OPEN,
      '< R 50(0)',
      '> A 1(0) ack 1',
      '< R 51(0)',
      '+500',
      '< R 52(0)',
      '> A 1(0) ack 1',
    ],
  },
  { title: 'RST outside of the window is dropped', lines: [...OPEN, '< R 70000(0)', '< R 0(0)'] },
  // ---- fourth: SYN (RFC 5961, 4) ----
  {
    title: 'SYN in the window is challenged',
    lines: [...OPEN, '< S 50(0)', '> A 1(0) ack 1'],
  },
  {
    title: 'a device that has forgotten the connection resets it by the answer, and begins anew',
    lines: [
      ...OPEN,
      '< S 5000(0)',
      '> A 1(0) ack 1',
      '< R 1(0)',
      '= ended reset',
      '< S 5000(0)',
      '= asked',
    ],
  },
  // ---- fifth: ACK (RFC 5961, 5) ----
  { title: 'a segment without ACK is dropped', lines: [...OPEN, '< P 1(5)'] },
  {
    title: 'an acknowledgement of what was not sent is challenged, and its text dropped',
    lines: [...OPEN, '< PA 1(5) ack 2', '> A 1(0) ack 1'],
  },
  {
    title: 'an acknowledgement older than the largest window is challenged',
    lines: [...OPEN, '< PA 1(5) ack -30000', '> A 1(0) ack 1'],
  },
  {
    title: 'an old acknowledgement brings its text along',
    lines: [
      ...OPEN,
      'send 10',
      '> PA 1(10)',
      '< A 1(0) ack 11',
      '< PA 1(5) ack 1',
      '= took 5',
      '> A 11(0) ack 6',
    ],
  },
  {
    title: 'an old segment does not change the window (SND.WL1, SND.WL2)',
    lines: [
      ...OPEN,
      '< PA 1(5) ack 1 win 20000',
      '= took 5',
      '> A 1(0) ack 6',
      '< PA 1(5) ack 1 win 0',
      '> A 1(0) ack 6',
      'send 10',
      '> PA 1(10)',
    ],
  },
  {
    title: 'FIN-WAIT-1, ACK of FIN: FIN-WAIT-2, which text still reaches',
    lines: [...FIN_WAIT_2, '< PA 1(3) ack 2', '= took 3', '> A 2(0) ack 4'],
  },
  {
    title: 'CLOSING, ACK of FIN: TIME-WAIT',
    lines: [...CLOSING, '< A 2(0) ack 2', '= ended closed', '+59999'],
  },
  {
    title: 'LAST-ACK, ACK of FIN: gone',
    lines: [...LAST_ACK, '< A 2(0) ack 2', '= ended closed'],
    isGone: true,
  },
  {
    title: 'TIME-WAIT ends after 60 s',
    lines: [...TIME_WAIT, '+60000'],
    isGone: true,
  },
  {
    title: 'FIN again in TIME-WAIT: ACK, and 60 s from then',
    lines: [
      ...TIME_WAIT,
      '+59000',
      '< FA 1(0) ack 2',
      '> A 2(0) ack 2',
      '+59000',
      '< FA 1(0) ack 2',
      '> A 2(0) ack 2',
    ],
  },
  {
    title: 'no SYN takes the place of TIME-WAIT while the owner has bytes to take',
    lines: [
      ...FIN_WAIT_2,
      'appetite 0',
      '< PA 1(100) ack 2',
      '> A 2(0) ack 101',
      '< FA 101(0) ack 2',
      '> A 2(0) ack 102',
      '+1000',
      '< S 5000(0) <mss 1000>',
      '> A 2(0) ack 102',
      'appetite 100',
      'take',
      '= took 100',
      '= finished',
      '= ended closed',
    ],
  },
  {
    title: 'a SYN with a later number takes the place of TIME-WAIT (MAY-2)',
    lines: [...TIME_WAIT, 'again', '< S 100(0)', '= asked', 'accept', '> SA 0(0) ack 101'],
  },
  {
    title: 'a SYN with an earlier number does not',
    lines: [...TIME_WAIT, '< S 0(0)', '> A 2(0) ack 2'],
  },
  // ---- seventh: text ----
  {
    title: 'text in order; every second full segment is acknowledged at once, others after 40 ms',
    lines: [
      ...OPEN,
      // At the beginning each segment is acknowledged.
      ...Array.from({ length: 16 }, (_, i) => [
        `< PA ${1 + 10 * i}(10) ack 1`,
        '= took 10',
        `> A 1(0) ack ${11 + 10 * i}`,
      ]).flat(),
      '< PA 161(1000) ack 1',
      '= took 1000',
      '+39',
      '+1',
      '> A 1(0) ack 1161',
      '< PA 1161(1000) ack 1',
      '= took 1000',
      '< PA 2161(1000) ack 1',
      '= took 1000',
      '> A 1(0) ack 3161',
    ],
  },
  {
    title: 'text after FIN of the device is not taken',
    lines: [...CLOSE_WAIT, '< PA 2(5) ack 1', '> A 1(0) ack 2'],
  },
  // ---- eighth: FIN ----
  {
    title: 'FIN in ESTABLISHED: CLOSE-WAIT, from which text still goes',
    lines: [...CLOSE_WAIT, 'send 5', '> PA 1(5) ack 2', '< A 2(0) ack 6'],
  },
  {
    title: 'FIN with text',
    lines: [...OPEN, '< FPA 1(5) ack 1', '= took 5', '= finished', '> A 1(0) ack 7'],
  },
  {
    title: 'FIN before text: it counts when the text has come',
    lines: [
      ...OPEN,
      '< FA 6(0) ack 1',
      '> A 1(0) ack 1',
      '< PA 1(5) ack 1',
      '= took 5',
      '= finished',
      '> A 1(0) ack 7',
    ],
  },
  {
    title: 'nothing counts after a FIN that is known',
    lines: [
      ...OPEN,
      '< FA 6(0) ack 1',
      '> A 1(0) ack 1',
      '< PA 1(20) ack 1',
      '= took 5',
      '= finished',
      '> A 1(0) ack 7',
    ],
  },
  {
    title: 'FIN in FIN-WAIT-1 without an ACK of ours: CLOSING',
    lines: CLOSING,
  },
  {
    title: 'FIN in FIN-WAIT-1 with the ACK of ours: TIME-WAIT',
    lines: [
      ...FIN_WAIT_1,
      '< FA 1(0) ack 2',
      '= finished',
      '= ended closed',
      '> A 2(0) ack 2',
      '+60000',
    ],
    isGone: true,
  },
  { title: 'FIN in FIN-WAIT-2: TIME-WAIT', lines: TIME_WAIT },
  {
    title: 'FIN again in CLOSE-WAIT is acknowledged',
    lines: [...CLOSE_WAIT, '< FA 1(0) ack 1', '> A 1(0) ack 2'],
  },
  {
    title: 'FIN again in LAST-ACK is acknowledged',
    lines: [...LAST_ACK, '< FA 1(0) ack 1', '> A 2(0) ack 2'],
  },
  {
    title: 'a device gets everything although the owner has closed and takes late',
    lines: [
      ...OPEN,
      'appetite 0',
      '< FPA 1(5) ack 1',
      '> A 1(0) ack 7',
      'close',
      '> FPA 1(0) ack 7',
      '< A 7(0) ack 2',
      '+120000',
      'appetite 100',
      'take',
      '= took 5',
      '= finished',
      '= ended closed',
      '+60000',
    ],
    isGone: true,
  },
];

for (const { title, lines, setting, isGone } of rows)
  test(title, (t) => {
    const script = play(lines, setting);
    t.is(script.isGone(), isGone === true);
  });
