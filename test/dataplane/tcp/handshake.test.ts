// How connections open: the events of RFC 9293, 3.10.7.1 to 3.10.7.3, for SYN-RECEIVED those of
// 3.10.7.4, and the options of a SYN.

import test from 'ava';
import { OPEN, OPEN_WITH_OPTIONS, play, type Setting } from '../../support/tcp/script.ts';

const SYN = '< S 0(0) win 20000 <mss 1000>';
const ASKED = [SYN, '= asked'] as const;

interface Row {
  readonly title: string;
  readonly lines: readonly string[];
  readonly setting?: Setting;
  /** The connection is still there at the end. */
  readonly stays?: true;
}

const rows: readonly Row[] = [
  // ---- 3.10.7.1, CLOSED; 3.10.7.2, LISTEN ----
  { title: 'RST to nobody is dropped', lines: ['< R 5(0)', '< RA 5(0) ack 3'] },
  { title: 'ACK to nobody: RST with its number', lines: ['< A 5(0) ack 77', '> R 0(0)'] },
  {
    title: 'text without ACK to nobody: RST that acknowledges it',
    lines: ['< F 5(10)', '> RA 0(0) ack 16'],
  },
  {
    title: 'SYN and ACK to nobody: RST',
    lines: ['< SA 5(0) ack 9 <mss 1000>', '> R 0(0)'],
  },
  { title: 'SYN: the owner is asked, and nothing is sent', lines: ASKED, stays: true },
  { title: 'a repeated SYN finds its connection', lines: [...ASKED, SYN, SYN], stays: true },
  {
    title: 'a SYN with another number from the same port takes its place',
    lines: [...ASKED, '< S 100(0) <mss 700>', 'accept', '> SA 0(0) ack 101'],
    stays: true,
  },
  { title: 'SYN, then RST: the slot is free', lines: [...ASKED, '< R 1(0)', '= ended reset'] },
  { title: 'RST with another number is dropped', lines: [...ASKED, '< R 700(0)'], stays: true },
  {
    title: 'ACK before the owner has answered is dropped',
    lines: [...ASKED, '< A 1(0) ack 1', '< A 1(5) ack 1'],
    stays: true,
  },
  { title: 'refused: RST', lines: [...ASKED, 'refuse', '> RA 0(0) ack 1'] },
  { title: 'silent: nothing', lines: [...ASKED, 'forget', '+100000'] },
  {
    title: 'removed with its device: nothing',
    lines: [...ASKED, 'remove', '= ended by the owner'],
  },
  { title: 'waiting has no deadline of its own', lines: [...ASKED, '+3600000'], stays: true },

  // ---- SYN-RECEIVED ----
  { title: 'three-way handshake (3.5, figure 6)', lines: OPEN, stays: true },
  {
    title: 'over IPv6, where the standard MSS is another',
    lines: ['< S 0(0)', '= asked', 'accept', '> SA 0(0) ack 1 <mss 1360>'],
    setting: { isIpv6: true },
    stays: true,
  },
  {
    title: 'a repeated SYN is answered by SYN-ACK again',
    lines: [...ASKED, 'accept', '> SA 0(0) ack 1', SYN, '> SA 0(0) ack 1'],
    stays: true,
  },
  {
    title: 'five SYN-ACKs, each after twice the time, then the owner resets the host',
    lines: [
      ...ASKED,
      'accept',
      '> SA 0(0) ack 1',
      '+999',
      '+1',
      '> SA 0(0) ack 1',
      '+1999',
      '+1',
      '> SA 0(0) ack 1',
      '+4000',
      '> SA 0(0) ack 1',
      '+8000',
      '> SA 0(0) ack 1',
      '+15999',
      '+1',
      '= ended silent',
    ],
  },
  {
    title: 'RST with the next number ends it',
    lines: [...ASKED, 'accept', '> SA 0(0)', '< R 1(0)', '= ended reset'],
  },
  {
    title: 'RST elsewhere in the window is challenged (RFC 5961, 3)',
    lines: [...ASKED, 'accept', '> SA 0(0)', '< R 100(0)', '+1000', '> SA 0(0)'],
    stays: true,
  },
  {
    title: 'an acknowledgement of something else: RST with its number',
    lines: [...ASKED, 'accept', '> SA 0(0)', '< A 1(0) ack 40', '> R 40(0)'],
    stays: true,
  },
  {
    title: 'text that comes with the ACK is taken after the connection is open',
    lines: [
      ...ASKED,
      'accept',
      '> SA 0(0)',
      '< A 1(10) ack 1',
      '= opened',
      '= took 10',
      '> A 1(0) ack 11',
    ],
    stays: true,
  },
  {
    title: 'the first ACK is lost: text opens the connection',
    lines: [...ASKED, 'accept', '> SA 0(0)', '< PA 1(3) ack 1', '= opened', '= took 3', '> A 1(0)'],
    stays: true,
  },
  {
    title: 'FIN with the ACK',
    lines: [
      ...ASKED,
      'accept',
      '> SA 0(0)',
      '< FA 1(0) ack 1',
      '= opened',
      '= finished',
      '> A 1(0) ack 2',
    ],
    stays: true,
  },
  {
    title: 'text of the owner waits until the connection is open',
    lines: [...ASKED, 'accept', '> SA 0(0)', 'send 5', '< A 1(0) ack 1', '= opened', '> PA 1(5)'],
    stays: true,
  },
  {
    title: 'CLOSE in SYN-RECEIVED: FIN follows the handshake',
    lines: [...ASKED, 'accept', '> SA 0(0)', 'close', '< A 1(0) ack 1', '= opened', '> FPA 1(0)'],
    stays: true,
  },

  // ---- SYN-SENT ----
  {
    title: 'active open',
    lines: [
      'open',
      '> S 0(0) win 65535 <mss 1380, sackOK, wscale 7, ts 0>',
      '< SA 0(0) ack 1 <mss 1000>',
      '= opened',
      '> A 1(0) ack 1 <>',
    ],
    stays: true,
  },
  {
    title: 'an unacceptable ACK is answered by RST, and the SYN goes on',
    lines: ['open', '> S 0(0)', '< A 9(0) ack 77', '> R 77(0)', '+1000', '> S 0(0)'],
    stays: true,
  },
  {
    title: 'RST with the acknowledgement of the SYN: refused',
    lines: ['open', '> S 0(0)', '< RA 0(0) ack 1', '= ended reset'],
  },
  { title: 'RST without it is dropped', lines: ['open', '> S 0(0)', '< R 0(0)'], stays: true },
  {
    title: 'ACK without SYN is dropped',
    lines: ['open', '> S 0(0)', '< A 0(0) ack 1'],
    stays: true,
  },
  {
    title: 'both sides open at the same time (3.5, figure 7)',
    lines: [
      'open',
      '> S 0(0)',
      '< S 0(0) <mss 1000>',
      '> SA 0(0) ack 1',
      '< SA 0(0) ack 1 <mss 1000>',
      '= opened',
      '> A 1(0) ack 1',
    ],
    stays: true,
  },
  {
    title: 'both sides open at the same time, and the SYN-ACK acknowledges something else',
    lines: [
      'open',
      '> S 0(0)',
      '< S 0(0)',
      '> SA 0(0) ack 1',
      '< SA 0(0) ack 2',
      '> SA 0(0) ack 1',
    ],
    stays: true,
  },
  {
    title: 'five SYNs, then silence',
    lines: [
      'open',
      '> S 0(0)',
      '+1000',
      '> S 0(0)',
      '+2000',
      '> S 0(0)',
      '+4000',
      '> S 0(0)',
      '+8000',
      '> S 0(0)',
      '+16000',
      '= ended silent',
    ],
  },
  { title: 'aborted before an answer', lines: ['open', '> S 0(0)', 'abort', '+100000'] },

  // ---- options ----
  {
    title: 'options are agreed on only if both sides have sent them',
    lines: [
      '< S 0(0) <mss 1000, ts 5>',
      '= asked',
      'accept',
      '> SA 0(0) ack 1 win 65535 <mss 1380, ts 5>',
    ],
    stays: true,
  },
  { title: 'all options', lines: OPEN_WITH_OPTIONS, stays: true },
  {
    title: 'a shift above 14 counts as 14 (RFC 7323, 2.3); no MSS is 536 (RFC 9293, 3.7.1)',
    lines: [
      '< S 0(0) win 100 <wscale 15>',
      '= asked',
      'accept',
      '> SA 0(0) ack 1 <mss 1380, wscale 7>',
      '< A 1(0) ack 1 win 1',
      '= opened',
      'send 1000',
      '> PA 1(1000) cut 536',
    ],
    stays: true,
  },
  {
    title: 'the MSS of a device with a small MTU',
    lines: ['< S 0(0) <mss 1460>', '= asked', 'accept', '> SA 0(0) ack 1 <mss 540>'],
    setting: { mtu: 580 },
    stays: true,
  },
];

for (const { title, lines, setting, stays } of rows)
  test(title, (t) => {
    const script = play(lines, setting);
    t.is(script.isGone(), stays === undefined);
  });

test('a device has at most so many connections that are not open', (t) => {
  const setting = { options: { connecting: 2 } };
  const second = ['port 5001', SYN, '= asked'];
  const script = play([...ASKED, ...second, 'port 5002', SYN], setting);
  t.is(script.station.machine.connections, 2);
  t.is(script.station.machine.connectingOf(1), 2);
  script.run('forget', SYN, '= asked', 'accept', '> SA 0(0)', '< A 1(0) ack 1', '= opened');
  t.is(script.station.machine.connectingOf(1), 1);
  script.run('remove', '= ended by the owner', '= ended by the owner');
  t.true(script.isGone());
  t.is(script.station.machine.connectingOf(1), 0);
});

test('with a full table a SYN is not answered, and RST still is', (t) => {
  const script = play([...ASKED, 'port 5001', SYN, '< A 5(0) ack 77', '> R 0(0)'], {
    options: { connections: 1 },
  });
  t.is(script.station.machine.connections, 1);
});

test('initial numbers differ by address, port, secret and time (RFC 6528)', (t) => {
  const numbers = new Set<number>();
  for (const seed of [1, 2])
    for (const port of [5_000, 5_001])
      for (const wait of ['+0', '+1000']) {
        const script = play([wait, `port ${port}`, SYN, '= asked', 'accept', '> SA 0(0)'], {
          seed,
        });
        numbers.add(script.iss);
      }
  t.is(numbers.size, 8);
  const [first, second] = ['+0', '+1000'].map(
    (wait) => play([wait, SYN, '= asked', 'accept', '> SA 0(0)']).iss,
  );
  // One tick is 4 µs.
  t.is((second! - first!) | 0, 250_000);
});
