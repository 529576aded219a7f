// The faults that others shipped (field.md, Appendix A), claim by claim, and that tests show each of
// them absent. Such a test has a line above it, "// field.md, A.7: padding to 16.", so that whoever
// reads either finds the other; the claims are named here, with who shipped the fault.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';

/** Named together at the head of the appendix. */
const USERSPACE = 'GotaTun, boringtun, wireguard-go';

const FAULTS: Readonly<Record<number, readonly [by: string, ...claims: string[]]>> = {
  1: [USERSPACE, 'limit of messages', '64-bit counters'],
  2: [USERSPACE, 'window of 8,192'],
  3: [USERSPACE, 'preshared key at the next handshake'],
  4: [USERSPACE, 'endpoint follows any authenticated packet', 'endpoint follows no cookie reply'],
  5: [USERSPACE, 'cookie of address and port', 'mac2', 'handshakes limited per source'],
  6: [USERSPACE, 'random indices'],
  7: [
    USERSPACE,
    'padding to 16',
    'empty keepalive',
    'keepalives answer data alone',
    'no keepalive without need',
  ],
  8: [USERSPACE, 'jitter', 'no storm of rekeys', 'late responses'],
  9: [USERSPACE, 'oversized or odd datagrams', 'joined datagrams'],
  10: [USERSPACE, 'source by the longest prefix'],
  11: [
    USERSPACE,
    'jumps of the monotonic clock',
    'timestamps replayed after a restart',
    'system clock stepped back',
  ],
  12: [USERSPACE, 'latest handshake', 'bytes with handshakes'],
  13: [
    USERSPACE,
    'a random port that IPv6 has taken',
    'hosts without IPv6',
    'addresses of both families',
    'IPv6 sources',
  ],
  14: [USERSPACE, 'partial batches', 'EIO of an offload'],
  15: [USERSPACE, 'TUN gone'],
  16: ['Tailscale #20183', 'failed handshakes'],
  17: ['Firezone #10231', 'order of each peer'],
  18: [
    'defguard #1868 and #1162, wg-easy #2769',
    'families apart',
    'devices made later',
    'return traffic',
    'no moment without rules',
    'fragments',
    'ICMP errors',
    'device to device',
  ],
  19: ['defguard gateway #225', 'one change, one device'],
  20: ['Firezone 0.7 #1578', 'established flows', 'queued packets', 'users and sessions'],
  21: [
    'wg-portal #744, Firezone 0.7',
    'answers that shut nobody out',
    'start with a broken provider',
  ],
  22: ['wg-easy', 'labels', 'Unix time'],
  23: ['OPNsense #7439', 'file name', 'empty keys', 'brackets of IPv6'],
  24: ['wg-portal #151', 'statistics by what moved'],
  25: ['nobody named', 'silence', 'counted'],
};

const POINTER = /^\s*\/\/ field\.md, A\.(\d+): (.+)\.$/;
/** A test begins here, or one of its kinds: nativeTest, engineTest. */
const TEST = /^\s*\w*[tT]est(\.serial)?\(/;

/** Whatever points at the appendix: file and line, what it points at, and the code below it. */
const pointers = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts') && path !== 'faults-of-others.test.ts')
  .flatMap((path) => {
    const lines = readFileSync(join(import.meta.dirname, path), 'utf8').split('\n');
    return lines.flatMap((line, i) => {
      if (!/^\s*\/\/ field\.md, A\b/.test(line)) return [];
      const [, fault = '', claim = ''] = POINTER.exec(line) ?? [];
      const below = lines.slice(i).find((one) => !/^\s*\/\//.test(one)) ?? '';
      return [{ place: `${path}:${i + 1}`, fault: Number(fault), claim, below }];
    });
  });

test('whoever points at a fault of others is a test, and points at a claim of its line', (t) => {
  for (const { place, fault, claim, below } of pointers) {
    t.true(FAULTS[fault]?.slice(1).includes(claim) ?? false, `${place}: A.${fault}: ${claim}`);
    t.regex(below, TEST, place);
  }
});

for (const [fault, [by, ...claims]] of Object.entries(FAULTS))
  test(`field.md, A.${fault} (${by}) is tested: ${claims.join(', ')}`, (t) => {
    const claimed = pointers.filter((pointer) => pointer.fault === Number(fault));
    for (const claim of claims)
      t.true(
        claimed.some((pointer) => pointer.claim === claim),
        claim,
      );
  });

test('the appendix has 25 lines', (t) => {
  t.deepEqual(
    Object.keys(FAULTS),
    Array.from({ length: 25 }, (_, i) => String(i + 1)),
  );
});
