// When pasta hangs: it computes, and no packet passes it.

import test from 'ava';
import {
  cpuSecondsIn,
  packetsIn,
  type PastaEnd,
  PastaCheck,
  type PastaLook,
} from '../../../../lib/kit/process/pasta.ts';

type Step = Partial<Record<'cpu' | 'packets' | 'pid', number>>;

/**
 * What is checked at looks five seconds apart; each step says what has changed since the last one.
 */
function verdicts(...steps: Step[]): (PastaEnd | null)[] {
  const check = new PastaCheck();
  let look: PastaLook = { pid: 7, cpuSeconds: 100, packets: 1_000, atMs: 0 };
  const all = [check.check(look)];
  for (const { cpu = 0, packets = 0, pid = look.pid } of steps) {
    look = {
      pid,
      cpuSeconds: look.cpuSeconds + cpu,
      packets: look.packets + packets,
      atMs: look.atMs + 5_000,
    };
    all.push(check.check(look));
  }
  return all;
}

const HANGS: Step = { cpu: 4.9 };
const table: readonly [title: string, steps: Step[], wanted: (PastaEnd | null)[]][] = [
  ['it computes, and no packet passes it', [HANGS, HANGS], [null, null, 'hung']],
  ['it gets little of a core meanwhile', [{ cpu: 1.3 }, { cpu: 1.3 }], [null, null, 'hung']],
  ['it rests', [{}, {}, {}], [null, null, null, null]],
  ['it computes little', [{ cpu: 1.2 }, { cpu: 1.2 }], [null, null, null]],
  ['it carries', [{ cpu: 4.9, packets: 1 }, HANGS], [null, null, null]],
  ['it hung for a moment', [HANGS, { packets: 5 }, HANGS], [null, null, null, null]],
  ['another one has its place', [HANGS, { ...HANGS, pid: 8 }], [null, null, 'ended']],
  ['the other one hangs too', [{ pid: 8 }, HANGS, HANGS], [null, 'ended', null, 'hung']],
  [
    'the one that hung ends once',
    [HANGS, HANGS, { pid: 8 }, { pid: 9 }],
    [null, null, 'hung', null, 'ended'],
  ],
];

for (const [title, steps, wanted] of table)
  test(`pasta: ${title}`, (t) => {
    t.deepEqual(verdicts(...steps), wanted);
  });

test('CPU time is that of user and system, whatever the name of the program is', (t) => {
  const text =
    '815 (pasta) (avx2) R 1 815 815 0 -1 4194304 9 0 0 0 150 75 0 0 20 0 1 0 91 66 77 18 0';
  t.is(cpuSecondsIn(text), 2.25);
});

test('packets are those of both ways, but not of the TUN', (t) => {
  const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    1000      10    0    0    0     0          0         0     1000      10    0    0    0     0       0          0
  eth0:  130560    2176    0    0    0     0          0         0    94560     124    0    0    0     0       0          0
wg-postern: 7  7000    0    0    0     0          0         0        7    7000    0    0    0     0       0          0
`;
  t.is(packetsIn(text, 'wg-postern'), 2_300);
});
