// What is said of findings: every finding has words for both readers, and nothing that strangers or
// devices send can be anything but text.

import test from 'ava';
import type { Attempt } from '../../../../dataplane/index.ts';
import type { Found } from '../../../../lib/observe/diagnosis/finding.ts';
import {
  advice,
  findingCodes,
  ownerWords,
  findingText,
  timeOf,
} from '../../../../lib/observe/diagnosis/words.ts';

const AT = Date.UTC(2026, 0, 1, 12);
const endpoint = { address: '2001:db8::7', port: 9 };
const attempt: Attempt = {
  kind: 'refused',
  reason: 'initiation_replayed',
  endpoint,
  count: 3,
  firstAtMs: AT,
  lastAtMs: AT + 5_000,
  confirmedAtMs: null,
  datedMs: Date.UTC(2020, 0, 1),
  latestDatedMs: 1.4e22,
};

const texts: readonly [Found, string][] = [
  [{ code: 'connected' }, 'It is connected, and its packets pass.'],
  [
    { code: 'wrong_inner_address', wrong: { address: '192.168.1.7', count: 1, atMs: AT } },
    'It is connected, but it sends from 192.168.1.7, which is not its address: once, and nothing else passes.',
  ],
  [
    { code: 'inner_packets_too_big', tooBig: { bytes: 1_500, count: 12, atMs: AT } },
    'It is connected, but packets for it are too big: 12 times since its last handshake, the last one of 1500 bytes.',
  ],
  [
    { code: 'inner_packets_refused', refused: { reason: 'default_drop', atMs: AT } },
    'It is connected, but no packet of it passes. No rule matches it, and the default action is to drop.',
  ],
  [
    {
      code: 'key_used_twice',
      attempts: [attempt, { ...attempt, endpoint: { address: '192.0.2.1', port: 5 } }, attempt],
    },
    'Two devices use its key: handshakes came in turn from [2001:db8::7]:9 and 192.0.2.1:5.',
  ],
  [
    { code: 'elsewhere', gatewayId: 'g', gatewayName: null, sinceMs: AT },
    'It is connected to another gateway since 2026-01-01 12:00:00 UTC.',
  ],
  [
    { code: 'dated_before', attempt },
    'Its handshakes are refused, because they are dated before the latest one: 3 times, from [2001:db8::7]:9, last at 2026-01-01 12:00:05 UTC, dated 2020-01-01 00:00:00 UTC; the latest one was dated an unknown time.',
  ],
  [
    { code: 'not_confirmed', attempt: { ...attempt, kind: 'answered', reason: null } },
    'Its handshakes are answered, but it never uses an answer: 3 times since 2026-01-01 12:00:00 UTC, from [2001:db8::7]:9, last at 2026-01-01 12:00:05 UTC.',
  ],
  [
    { code: 'not_confirmed', attempt: { ...attempt, kind: 'answered', reason: null, count: 1 } },
    'Its handshakes are answered, but it never uses an answer: once, from [2001:db8::7]:9, at 2026-01-01 12:00:05 UTC.',
  ],
  [
    { code: 'not_confirmed', attempt: { ...attempt, reason: 'response_invalid' } },
    'It answers handshakes of the gateway with something that cannot be opened: 3 times, from [2001:db8::7]:9, last at 2026-01-01 12:00:05 UTC.',
  ],
  [
    { code: 'under_way', attempt: { ...attempt, endpoint: null } },
    'It has just begun a handshake from an unknown address.',
  ],
  [
    { code: 'handshake_refused', attempt: { ...attempt, count: 1, reason: 'keypair_table_full' } },
    'Its handshakes are refused: once, from [2001:db8::7]:9, at 2026-01-01 12:00:05 UTC. The gateway has no room for another session key of a device.',
  ],
  [
    {
      code: 'key_not_registered',
      stranger: { endpoint, count: 1, firstAtMs: AT, lastAtMs: AT, publicKey: 'K=' },
    },
    'Handshakes with a key that no device has come from [2001:db8::7]:9, where the device was last: once, at 2026-01-01 12:00:00 UTC. The key is K=.',
  ],
  [
    { code: 'other_gateway_key', stranger: { endpoint, count: 2, firstAtMs: AT, lastAtMs: AT } },
    'Handshakes for the key of another gateway come from [2001:db8::7]:9, where the device was last: 2 times, last at 2026-01-01 12:00:00 UTC.',
  ],
  [
    { code: 'nothing_arrived', lastMs: null, initiated: null, away: null },
    'Nothing has arrived from it.',
  ],
  [
    { code: 'nothing_arrived', lastMs: AT, initiated: attempt, away: null },
    'Nothing has arrived from it since its handshake of 2026-01-01 12:00:00 UTC. The gateway began a handshake with it at [2001:db8::7]:9 without an answer: 3 times, last at 2026-01-01 12:00:05 UTC.',
  ],
  [
    {
      code: 'nothing_arrived',
      lastMs: AT,
      initiated: null,
      away: { last: null, hasOthers: true },
    },
    'Nothing has arrived from it at this gateway since its handshake of 2026-01-01 12:00:00 UTC. Other gateways run too: ask each of them.',
  ],
  [
    {
      code: 'nothing_arrived',
      lastMs: AT,
      initiated: null,
      away: { last: { gatewayName: 'berlin', isRunning: false }, hasOthers: false },
    },
    'Nothing has arrived from it at this gateway. Its latest handshake was with berlin, which does not run any more, at 2026-01-01 12:00:00 UTC.',
  ],
  [
    { code: 'session_ended' },
    'The VPN session of its owner has ended: the owner must sign in again.',
  ],
];

test('each finding says what it rests on', (t) => {
  for (const [found, text] of texts) t.is(findingText(found), text, found.code);
  const elsewhere = {
    code: 'elsewhere',
    gatewayId: 'g',
    gatewayName: 'berlin',
    sinceMs: AT,
  } as const;
  t.regex(findingText(elsewhere), /connected to berlin since/);
});

test('each finding has words for both readers, which end as sentences do', (t) => {
  for (const code of findingCodes) {
    t.regex(advice[code], /\.$|\?$/, code);
    t.regex(ownerWords[code].text, /^[A-Z].*\.$/, code);
    t.regex(ownerWords[code].advice, /^$|\.$/, code);
  }
  t.deepEqual(Object.keys(advice).toSorted(), findingCodes.toSorted());
});

test('a time of a message that no calendar has is unknown', (t) => {
  t.is(timeOf(AT)?.getTime(), AT);
  for (const ms of [1.4e22, -1, Number.NaN, Date.UTC(10_000, 0)]) t.is(timeOf(ms), null, `${ms}`);
});
