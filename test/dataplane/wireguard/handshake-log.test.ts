// What is remembered of the handshakes of a peer: what is joined, what goes, and what stays
// whatever strangers repeat.

import test from 'ava';
import {
  ATTEMPTS_ANSWERED,
  ATTEMPTS_REFUSED,
  MAX_PEERS,
  TIMESTAMP_BYTES,
} from '../../../dataplane/constants.ts';
import { timestampMs, TimestampSource } from '../../../dataplane/noise/tai64n.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import { createEndpointTable, writeEndpoint } from '../../../dataplane/wire/address.ts';
import { type Attempt, HandshakeLog } from '../../../dataplane/wireguard/handshake-log.ts';
import { address } from '../../support/dataplane/packets.ts';

const SLOT = 4_711;

/** A log, and how to name an endpoint for its next entry. */
function openLog(): { log: HandshakeLog; at: (text: string, port?: number) => number } {
  const endpoints = createEndpointTable(4);
  const at = (text: string, port = 40_000): number => {
    writeEndpoint(endpoints, 2, address(text), port);
    return 2;
  };
  return { log: new HandshakeLog(endpoints), at };
}

const plain: Attempt = {
  kind: 'answered',
  reason: null,
  endpoint: { address: '198.51.100.7', port: 40_000 },
  count: 1,
  firstAtMs: 1,
  lastAtMs: 1,
  confirmedAtMs: null,
  datedMs: null,
  latestDatedMs: null,
};

test('a handshake is there with its endpoint and times, and when it was confirmed', (t) => {
  const { log, at } = openLog();
  t.deepEqual(log.read(SLOT), []);
  log.confirmed(SLOT, false, 1);
  t.deepEqual(log.read(SLOT), [], 'nothing to confirm');
  log.answered(SLOT, at('198.51.100.7'), 1);
  t.deepEqual(log.read(SLOT), [plain]);
  log.confirmed(SLOT, false, 2);
  t.deepEqual(log.read(SLOT), [{ ...plain, confirmedAtMs: 2 }]);
  log.answered(SLOT, at('2001:db8::7', 9), 3);
  const second = { ...plain, endpoint: { address: '2001:db8::7', port: 9 } };
  t.deepEqual(log.read(SLOT).at(-1), { ...second, firstAtMs: 3, lastAtMs: 3 });
  t.deepEqual(log.read(SLOT + 1), [], 'a neighbour');
  t.deepEqual(log.read(MAX_PEERS - 1), []);
});

test('handshakes in a row that nobody confirms are one line; another endpoint begins a new one', (t) => {
  const { log, at } = openLog();
  for (let i = 0; i < 40; i++) log.answered(SLOT, at('198.51.100.7'), 1 + i);
  t.deepEqual(log.read(SLOT), [{ ...plain, count: 40, lastAtMs: 40 }]);
  log.answered(SLOT, at('198.51.100.7', 40_001), 50);
  log.answered(SLOT, at('198.51.100.7'), 60);
  t.deepEqual(
    log.read(SLOT).map(({ count, lastAtMs }) => [count, lastAtMs]),
    [
      [40, 40],
      [1, 50],
      [1, 60],
    ],
  );
});

test('what the gateway began is confirmed apart from what the device began', (t) => {
  const { log, at } = openLog();
  log.answered(SLOT, at('198.51.100.7'), 1);
  log.initiated(SLOT, at('198.51.100.7'), 2);
  log.confirmed(SLOT, false, 3);
  t.deepEqual(
    log.read(SLOT).map(({ kind, confirmedAtMs }) => [kind, confirmedAtMs]),
    [
      ['answered', 3],
      ['initiated', null],
    ],
  );
  log.confirmed(SLOT, true, 4);
  t.is(log.read(SLOT)[1]!.confirmedAtMs, 4);
});

test('the oldest goes, and refused ones take no place of answered ones', (t) => {
  const { log, at } = openLog();
  for (let i = 0; i < 10; i++) {
    log.answered(SLOT, at('198.51.100.7'), 100 + i);
    log.confirmed(SLOT, false, 100 + i);
  }
  for (let i = 0; i < 10_000; i++)
    log.refused(SLOT, reasons.initiation_replayed, at(`203.0.${i >> 8}.${i & 255}`), 200 + i);
  const attempts = log.read(SLOT);
  t.is(attempts.length, ATTEMPTS_ANSWERED + ATTEMPTS_REFUSED);
  t.deepEqual(
    attempts.map(({ lastAtMs }) => lastAtMs),
    [105, 106, 107, 108, 109, 10_197, 10_198, 10_199],
  );
});

test('refusals of one address for one reason are one line, whatever the port', (t) => {
  const { log, at } = openLog();
  for (let i = 0; i < 5; i++)
    log.refused(SLOT, reasons.initiation_too_frequent, at('198.51.100.7', 1_000 + i), i + 1);
  log.refused(SLOT, reasons.ring_full, at('198.51.100.7'), 9);
  t.deepEqual(
    log.read(SLOT).map(({ reason, count, endpoint }) => [reason, count, endpoint?.port]),
    [
      ['initiation_too_frequent', 5, 1_004],
      ['ring_full', 1, 40_000],
    ],
  );
});

test('a message that was dated before says both times', (t) => {
  const { log, at } = openLog();
  const [dated, latest] = [new Uint8Array(TIMESTAMP_BYTES), new Uint8Array(TIMESTAMP_BYTES)];
  const [early, late] = [Date.UTC(2020, 0, 1), Date.UTC(2026, 0, 1)];
  new TimestampSource().renew(dated, early);
  new TimestampSource().renew(latest, late);
  log.refused(SLOT, reasons.initiation_replayed, at('198.51.100.7'), 1, dated, latest);
  t.like(log.read(SLOT)[0], { datedMs: early, latestDatedMs: late });
  t.true(Number.isFinite(timestampMs(new Uint8Array(TIMESTAMP_BYTES).fill(255))));
});

test('a clock that is set back does not change the order', (t) => {
  const { log, at } = openLog();
  for (let i = 0; i < 7; i++) log.answered(SLOT, at('198.51.100.7', i + 1), 1_000 - i);
  t.deepEqual(
    log.read(SLOT).map(({ endpoint }) => endpoint!.port),
    [3, 4, 5, 6, 7],
  );
});

test('a slot that is forgotten is empty, and its neighbours are not', (t) => {
  const { log, at } = openLog();
  log.forget(SLOT);
  for (const slot of [SLOT - 1, SLOT, SLOT + 1]) log.answered(slot, at('198.51.100.7'), 1);
  log.refused(SLOT, reasons.ring_full, at('198.51.100.7'), 1);
  log.forget(SLOT);
  t.deepEqual(log.read(SLOT), []);
  t.is(log.read(SLOT - 1).length + log.read(SLOT + 1).length, 2);
  log.answered(SLOT, at('198.51.100.7'), 1);
  t.deepEqual(log.read(SLOT), [plain]);
});
