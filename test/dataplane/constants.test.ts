// The numbers of the paper, as this file has read them there, against dataplane/constants.ts.

import test from 'ava';
import * as constants from '../../dataplane/constants.ts';

// Paper, section 6.1 (times there in seconds), 5.4.4, 5.4.6 and 5.4.7.
const paper: Readonly<Record<string, number>> = {
  REKEY_AFTER_TIME_MS: 120_000,
  REJECT_AFTER_TIME_MS: 180_000,
  REKEY_ATTEMPT_TIME_MS: 90_000,
  REKEY_TIMEOUT_MS: 5_000,
  KEEPALIVE_TIMEOUT_MS: 10_000,
  COOKIE_REFRESH_TIME_MS: 120_000,
  KEY_BYTES: 32,
  TAG_BYTES: 16,
  MAC_BYTES: 16,
  TIMESTAMP_BYTES: 12,
  COOKIE_NONCE_BYTES: 24,
  PADDING_BYTES: 16,
  TRANSPORT_OVERHEAD_BYTES: 32,
};

for (const [name, value] of Object.entries(paper)) {
  test(`${name} is the paper's`, (t) => {
    t.is((constants as Record<string, unknown>)[name], value);
  });
}

// wireguard-linux, messages.h and ratelimiter.c.
const kernel: Readonly<Record<string, number>> = {
  REPLAY_WINDOW_COUNTERS: 8_192,
  INITIATION_INTERVAL_MS: 1_000 / 50,
  REKEY_TIMEOUT_JITTER_MS: 333,
  RATE_LIMIT_PER_SECOND: 20,
  RATE_LIMIT_BURST: 5,
};

for (const [name, value] of Object.entries(kernel)) {
  // docs/bugs-of-others.md#bug-2: window of 8,192.
  test(`${name} is the kernel's`, (t) => {
    t.is((constants as Record<string, unknown>)[name], value);
  });
}

test('message limits can be counted exactly by a number', (t) => {
  t.true(constants.REKEY_AFTER_MESSAGES < constants.REJECT_AFTER_MESSAGES);
  t.true(
    constants.REJECT_AFTER_MESSAGES + constants.REPLAY_WINDOW_COUNTERS <= Number.MAX_SAFE_INTEGER,
  );
});

test('every limit is a whole positive number', (t) => {
  for (const [name, value] of Object.entries(constants)) {
    t.true(Number.isSafeInteger(value) && value > 0, name);
  }
});

test('a slot holds the largest packet, its header and its padding', (t) => {
  const { SLOT_BYTES, SLOT_HEADROOM_BYTES, PADDING_BYTES } = constants;
  t.true(SLOT_HEADROOM_BYTES + 65_535 + PADDING_BYTES <= SLOT_BYTES);
});

test('slots begin at whole cache lines, and not all in the same set', (t) => {
  t.is(constants.SLOT_BYTES % 64, 0);
  t.is((constants.SLOT_BYTES / 64) % 2, 1);
});

test('all peers together may hold an index for each keypair and a handshake', (t) => {
  t.is(constants.MAX_INDICES, constants.MAX_KEYPAIRS + constants.MAX_PEERS);
});

test('staged packets of one peer fit into one batch', (t) => {
  t.true(constants.MAX_STAGED_PER_PEER <= constants.PACKET_SLOTS);
});
