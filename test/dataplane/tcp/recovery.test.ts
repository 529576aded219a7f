// Losses: RACK and tail loss probes (RFC 8985), NewReno where there is no SACK (RFC 6582), losses
// that were none (RFC 3522, RFC 4015), SACK that is taken back (RFC 2018, 8).

import test from 'ava';
import { OPEN, OPEN_WITH_OPTIONS, play, type Setting } from '../../support/tcp/script.ts';

/** Ten segments of 988 bytes are in flight, at the pace: five pairs, ten ms apart. */
const TEN = [
  ...OPEN_WITH_OPTIONS,
  'send 9880',
  '> A 1(1976) cut 988',
  '+60',
  '> A 1977(1976)',
  '> A 3953(1976)',
  '> A 5929(1976)',
  '> PA 7905(1976)',
];

interface Row {
  readonly title: string;
  readonly lines: readonly string[];
  readonly setting?: Setting;
}

const rows: readonly Row[] = [
  {
    title: 'three segments after a hole were delivered: the hole is lost at once (6.2, step 4)',
    lines: [
      ...TEN,
      '+40',
      '< A 1(0) ack 989 win 2000 <ts 300, sack 1977 4941>',
      '> A 989(988) ack 1',
      '+100',
      '< A 1(0) ack 9881 win 2000 <ts 400>',
      '+1000',
    ],
  },
  {
    title: 'one segment after a hole: a quarter of the round trip is waited for it',
    lines: [
      ...TEN,
      '+40',
      '< A 1(0) ack 989 win 2000 <ts 300, sack 1977 2965>',
      '+5',
      '+15',
      '> A 989(988) ack 1',
      '+100',
      '< A 1(0) ack 9881 win 2000 <ts 400>',
    ],
  },
  {
    title: 'a segment that comes late is not lost',
    lines: [
      ...TEN,
      '+40',
      '< A 1(0) ack 989 win 2000 <ts 300, sack 1977 2965>',
      '+10',
      '< A 1(0) ack 9881 win 2000 <ts 310>',
      '+1000',
    ],
  },
  {
    title: 'the last segments are lost: a probe shows it, and the hole is filled (7.3, 7.4)',
    lines: [
      ...TEN,
      '+40',
      '< A 1(0) ack 1977 win 2000 <ts 300>',
      '< A 1(0) ack 7905 win 2000 <ts 300>',
      '+210',
      '> PA 8893(988) ack 1',
      '+100',
      '< A 1(0) ack 7905 win 2000 <ts 400, sack 8893 9881>',
      '> A 7905(988) ack 1',
      '+100',
      '< A 1(0) ack 9881 win 2000 <ts 500>',
      '+1000',
    ],
  },
  {
    title: 'a single segment: the timeout comes before a probe would',
    lines: [
      ...OPEN_WITH_OPTIONS,
      'send 100',
      '> PA 1(100)',
      '+299',
      '+1',
      '> PA 1(100)',
      '+600',
      '> PA 1(100)',
    ],
  },
  {
    title: 'without an answer to a probe the timeout comes (7.3: one probe at a time)',
    lines: [
      ...OPEN_WITH_OPTIONS,
      'send 1976',
      '> PA 1(1976)',
      '+199',
      '+1',
      '> PA 989(988)',
      '+299',
      '+1',
      '> A 1(988)',
    ],
  },
  {
    title: 'a timeout: one segment, then slow start (RFC 6298, 5.4; RFC 8985, 6.3)',
    lines: [
      ...OPEN,
      'send 5000',
      '> PA 1(5000) cut 1000',
      '+201',
      '> A 1(1000)',
      '< A 1(0) ack 1001 win 20000',
    ],
  },
  {
    title:
      'without SACK three duplicates are a loss, and each partial ACK shows the next (RFC 6582)',
    lines: [
      ...OPEN,
      'send 8000',
      '> PA 1(8000) cut 1000',
      '< A 1(0) ack 1 win 20000',
      '< A 1(0) ack 1 win 20000',
      '< A 1(0) ack 1 win 20000',
      '> A 1(1000)',
      '+1',
      '< A 1(0) ack 2001 win 20000',
      '> A 2001(1000)',
      '+1',
      '< A 1(0) ack 8001 win 20000',
      '+1000',
    ],
  },
];

const SACK = [
  '< S 0(0) win 20000 <mss 1000, sackOK>',
  '= asked',
  'accept',
  '> SA 0(0)',
  '< A 1(0) ack 1 win 20000',
  '= opened',
];

/** Ten segments in flight in one run, with timestamps and without SACK, and a timeout. */
const TIMED_OUT = [
  '< S 0(0) win 20000 <mss 1000, ts 100>',
  '= asked',
  'accept',
  '> SA 0(0)',
  '< A 1(0) ack 1 win 20000 <ts 101>',
  '= opened',
  'send 9880',
  '> PA 1(9880) cut 988',
  '+201',
  '> A 1(988)',
  '+10',
];

/** A hole is found and filled. */
const REPAIRED = [
  ...TEN,
  '+40',
  '< A 1(0) ack 1 win 2000 <ts 300, sack 989 4941>',
  '> A 1(988) ack 1',
  '+2',
];

const others: readonly Row[] = [
  {
    title:
      'a timeout came too early (RFC 3522): the window is restored, and new bytes leave (4015)',
    lines: [
      ...TIMED_OUT,
      '< A 1(0) ack 989 win 60000 <ts 400 300>',
      'send 988',
      '> PA 9881(988)',
      '< A 1(0) ack 10869 win 60000 <ts 401>',
      '+10000',
    ],
  },
  {
    title: 'a timeout did not come too early: slow start from one segment',
    lines: [...TIMED_OUT, '< A 1(0) ack 989 win 60000 <ts 400>', '> A 989(988)'],
  },
  {
    title: 'what SACK had reported and the other side has forgotten is sent again (RFC 2018, 8)',
    lines: [
      ...TEN,
      '+40',
      '< A 1(0) ack 989 win 2000 <ts 300, sack 1977 9881>',
      '> A 989(988) ack 1',
      '+100',
      '< A 1(0) ack 1977 win 2000 <ts 400>',
      '+400',
      '> A 1977(988) ack 1',
      '+100',
      '< A 1(0) ack 9881 win 2000 <ts 500>',
      '+1000',
    ],
  },
  {
    title: 'a part of a run was acknowledged: what follows in it did not come out of order',
    lines: [
      ...SACK,
      'send 10000',
      '> PA 1(10000) cut 1000',
      '< A 1(0) ack 2001 win 20000',
      '< A 1(0) ack 2001 win 20000 <sack 3001 6001>',
      '> A 2001(1000)',
    ],
  },
  {
    title: 'a run that cannot be split for want of a record is sent again as a whole',
    lines: [...OPEN, 'send 5000', '> PA 1(5000) cut 1000', '+201', '> PA 1(5000) cut 1000'],
    setting: { options: { records: 1 } },
  },
  {
    title: 'a probe that waits for an allowance is none where SACK has come meanwhile',
    lines: [
      ...OPEN_WITH_OPTIONS,
      'send 1976',
      '> PA 1(1976)',
      '+199',
      'credit 0',
      '+1',
      '< A 1(0) ack 1 win 2000 <ts 300, sack 989 1977>',
      'credit 100000',
      '+25',
      '> A 1(988)',
      '+10',
      '< A 1(0) ack 1977 win 2000 <ts 400>',
      '+1000',
    ],
  },
];

for (const { title, lines, setting } of [...rows, ...others])
  test(title, (t) => {
    t.notThrows(() => play(lines, setting));
  });

/** Bytes that leave in 200 ms without an answer, where an acknowledgement has ended a recovery. */
function windowAfter(ack: string): number {
  const { station, owner, now } = play([...REPAIRED, ack]);
  station.machine.send(owner.connection, Buffer.alloc(30_000), 0, 30_000);
  let bytes = 0;
  for (let ms = 0; ms < 200; ms++) {
    station.machine.begin(now + ms);
    station.machine.expire();
    for (let packet = station.make(); packet !== null; packet = station.make())
      bytes += packet.bytes.length - 52;
  }
  return bytes;
}

test('a loss was none where the echo is older than what was sent again (RFC 3522, 4015)', (t) => {
  t.is(windowAfter('< A 1(0) ack 9881 win 2000 <ts 301 100>'), 9_880, 'the window is restored');
  t.is(windowAfter('< A 1(0) ack 9881 win 2000 <ts 301>'), 6_916, 'the window stays smaller');
});
