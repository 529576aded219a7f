// From what is remembered to one finding: each finding, the limits between them, and what a
// stranger cannot make of it.

import test from 'ava';
import type { Attempt, InsideSeen, Trace, UnknownSenders } from '../../../../dataplane/index.ts';
import {
  findingOf,
  latelyUnknown,
  type SeenConnection,
} from '../../../../lib/observe/diagnosis/finding.ts';
import type { LastSeen } from '../../../../lib/observe/whereabouts.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const HERE = 'here';
const MINUTE = 60_000;
const home = { address: '198.51.100.7', port: 40_000 };
const away = { address: '203.0.113.66', port: 666 };

function attempt(agoMs: number, fields: Partial<Attempt> = {}): Attempt {
  return {
    kind: 'answered',
    reason: null,
    endpoint: home,
    count: 1,
    firstAtMs: NOW - agoMs,
    lastAtMs: NOW - agoMs,
    confirmedAtMs: null,
    datedMs: null,
    latestDatedMs: null,
    ...fields,
  };
}

function confirmed(agoMs: number, fields: Partial<Attempt> = {}): Attempt {
  return attempt(agoMs, { confirmedAtMs: NOW - agoMs, ...fields });
}

function replayed(agoMs: number, behindMs: number): Attempt {
  const dated = { datedMs: NOW - behindMs, latestDatedMs: NOW };
  return attempt(agoMs, { kind: 'refused', reason: 'initiation_replayed', ...dated });
}

const quiet: InsideSeen = {
  sinceMs: NOW - 60 * MINUTE,
  passedAtMs: null,
  largest: 0,
  refused: null,
  wrongSource: null,
  tooBig: null,
};

interface Given {
  attempts?: Attempt[];
  handshakeAgoMs?: number;
  inside?: Partial<InsideSeen>;
  elsewhereAgoMs?: number;
  seen?: LastSeen | null;
  connections?: SeenConnection[];
  hasOthers?: boolean;
  strangers?: UnknownSenders;
  isOverQuota?: boolean;
}

function find({
  attempts = [],
  inside,
  seen = null,
  connections = [],
  hasOthers = false,
  isOverQuota = false,
  ...given
}: Given): ReturnType<typeof findingOf> {
  const ago = (ms: number | undefined): number | null => (ms === undefined ? null : NOW - ms);
  const trace: Trace = {
    attempts,
    latestHandshakeMs: ago(given.handshakeAgoMs),
    endpoint: null,
    elsewhereAtMs: ago(given.elsewhereAgoMs),
    inside: { ...quiet, ...inside },
  };
  const strangers = given.strangers ?? { keys: [], otherGateway: [] };
  const rows = { seen, connections, hasOthers };
  return findingOf({ nowMs: NOW, gatewayId: HERE, trace, ...rows, strangers, isOverQuota });
}

const seenAt = (gatewayId: string, agoMs: number): LastSeen => ({
  gatewayId,
  gatewayName: 'berlin',
  isRunning: true,
  handshakeMs: NOW - agoMs,
  sinceMs: NOW - agoMs - 5 * MINUTE,
  address: home.address,
});

const sender = (agoMs: number, endpoint = home): UnknownSenders['otherGateway'][number] => ({
  endpoint,
  count: 3,
  firstAtMs: NOW - agoMs - MINUTE,
  lastAtMs: NOW - agoMs,
});

// ---- not connected ---------------------------------------------------------------------------

test('a device of which nothing is known', (t) => {
  t.deepEqual(find({}), { code: 'nothing_arrived', lastMs: null, initiated: null, away: null });
});

test('a device that was connected and is silent since', (t) => {
  const found = find({ attempts: [confirmed(10 * MINUTE)], handshakeAgoMs: 10 * MINUTE });
  t.like(found, {
    code: 'nothing_arrived',
    lastMs: NOW - 10 * MINUTE,
    initiated: null,
    away: null,
  });
  t.like(find({ seen: seenAt(HERE, 20 * MINUTE) }), { lastMs: NOW - 20 * MINUTE });
  t.is(find({ handshakeAgoMs: 179_999, inside: { passedAtMs: NOW } }).code, 'connected');
  t.is(find({ handshakeAgoMs: 180_000, inside: { passedAtMs: NOW } }).code, 'nothing_arrived');
});

test('a device that the gateway calls in vain', (t) => {
  const initiated = attempt(MINUTE, { kind: 'initiated', count: 7 });
  t.like(find({ attempts: [confirmed(10 * MINUTE), initiated] }), {
    code: 'nothing_arrived',
    initiated,
  });
});

test('answered and never confirmed, however long ago', (t) => {
  for (const ago of [5_000, MINUTE, 100 * MINUTE])
    t.like(find({ attempts: [attempt(ago)] }), { code: 'not_confirmed' }, `${ago}`);
  t.is(find({ attempts: [attempt(1_000, { count: 2 })] }).code, 'not_confirmed');
  t.is(find({ attempts: [attempt(4_999)] }).code, 'under_way');
  t.is(
    find({ attempts: [attempt(MINUTE, { kind: 'refused', reason: 'response_invalid' })] }).code,
    'not_confirmed',
  );
  t.is(
    find({ attempts: [attempt(9 * MINUTE), confirmed(5 * MINUTE)] }).code,
    'nothing_arrived',
    'it was confirmed later',
  );
});

test('refused because it is dated before; a mere copy of a message is none of the device', (t) => {
  const late = replayed(MINUTE, 3_600_000);
  t.deepEqual(find({ attempts: [confirmed(9 * MINUTE), late] }), {
    code: 'dated_before',
    attempt: late,
  });
  t.is(find({ attempts: [confirmed(9 * MINUTE), replayed(MINUTE, 0)] }).code, 'nothing_arrived');
});

test('refused for another reason', (t) => {
  const refused = attempt(MINUTE, { kind: 'refused', reason: 'keypair_table_full' });
  t.deepEqual(find({ attempts: [refused] }), { code: 'handshake_refused', attempt: refused });
});

test('strangers at the address where the device was last', (t) => {
  const key = { ...sender(1_000), publicKey: 'k' };
  const unknown = { keys: [key], otherGateway: [] };
  const attempts = [confirmed(9 * MINUTE)];
  t.deepEqual(find({ attempts, strangers: unknown }), {
    code: 'key_not_registered',
    stranger: key,
  });
  t.is(
    find({ seen: seenAt(HERE, 9 * MINUTE), strangers: unknown }).code,
    'key_not_registered',
    'the rows know the address',
  );
  const other = { keys: [], otherGateway: [sender(1_000)] };
  t.is(find({ attempts, strangers: other }).code, 'other_gateway_key');
  const both = { keys: [key], otherGateway: [sender(500)] };
  t.is(find({ attempts, strangers: both }).code, 'other_gateway_key', 'the latest one');
});

test('strangers elsewhere, or of before its last sign of life, are not the device', (t) => {
  const attempts = [confirmed(9 * MINUTE)];
  const keyAt = (agoMs: number, endpoint = home): UnknownSenders => ({
    keys: [{ ...sender(agoMs, endpoint), publicKey: 'k' }],
    otherGateway: [],
  });
  t.is(find({ attempts, strangers: keyAt(1_000, away) }).code, 'nothing_arrived');
  t.is(find({ attempts, strangers: keyAt(10 * MINUTE) }).code, 'nothing_arrived');
  t.is(find({ strangers: keyAt(1_000) }).code, 'nothing_arrived', 'nobody knows where it is');
  const tried = (agoMs: number): Attempt[] => [attempt(agoMs, { count: 9 })];
  t.is(find({ attempts: tried(500), strangers: keyAt(1_000) }).code, 'not_confirmed');
  t.is(
    find({ attempts: tried(61_000), strangers: keyAt(1_000) }).code,
    'not_confirmed',
    'others behind the same address',
  );
  t.is(find({ attempts: tried(61_002), strangers: keyAt(1_000) }).code, 'key_not_registered');
  t.is(
    find({ handshakeAgoMs: 1_000, inside: { passedAtMs: NOW }, strangers: keyAt(500) }).code,
    'connected',
  );
});

test('strangers come newest first, as far back as is asked', (t) => {
  const keys = [
    { ...sender(5_000), publicKey: 'a' },
    { ...sender(1_000), publicKey: 'b' },
  ];
  const all = { keys, otherGateway: [sender(2_000)] };
  t.deepEqual(latelyUnknown(all, NOW - 3_000), [keys[1], all.otherGateway[0]]);
});

// ---- connected -------------------------------------------------------------------------------

test('connected, and how it goes inside', (t) => {
  const inside = (seen: Partial<InsideSeen>): string =>
    find({ attempts: [confirmed(MINUTE)], handshakeAgoMs: MINUTE, inside: seen }).code;
  t.is(inside({}), 'nothing_inside');
  t.is(inside({ passedAtMs: NOW - 50 * MINUTE }), 'connected', 'nobody uses it at the moment');
  const wrong = (agoMs: number): Partial<InsideSeen> => ({
    wrongSource: { address: '192.168.1.7', count: 3, atMs: NOW - agoMs },
  });
  t.is(inside(wrong(1_000)), 'wrong_inner_address');
  t.is(inside({ ...wrong(1_000), passedAtMs: NOW - 5 * MINUTE }), 'wrong_inner_address');
  t.is(inside({ ...wrong(1_000), passedAtMs: NOW - 30_000 }), 'connected', 'others pass');
  t.is(inside(wrong(4 * MINUTE)), 'nothing_inside', 'that is long ago');
  const big = (count: number, agoMs: number): Partial<InsideSeen> => ({
    passedAtMs: NOW,
    tooBig: { bytes: 1_500, count, atMs: NOW - agoMs },
  });
  t.is(inside(big(10, 1_000)), 'inner_packets_too_big');
  t.is(inside(big(9, 1_000)), 'connected', 'a search for the right size');
  t.is(inside(big(10, 61_000)), 'connected');
  const refused = (reason: 'default_drop' | 'inner_destination_reserved'): Partial<InsideSeen> => ({
    refused: { reason, atMs: NOW - 1_000 },
  });
  t.is(inside(refused('default_drop')), 'inner_packets_refused');
  t.is(inside({ ...refused('default_drop'), passedAtMs: NOW - MINUTE }), 'connected');
  const long = { passedAtMs: NOW - 4 * MINUTE };
  t.is(inside({ ...refused('default_drop'), ...long }), 'inner_packets_refused', 'since then');
  t.is(inside({ ...refused('inner_destination_reserved'), ...long }), 'connected');
  t.is(inside(refused('inner_destination_reserved')), 'nothing_inside', 'every system does so');
});

test('a quota that is used up is said of who is connected, and no other trouble hides', (t) => {
  const connected = { attempts: [confirmed(MINUTE)], handshakeAgoMs: MINUTE };
  const passes = { inside: { passedAtMs: NOW - MINUTE } };
  t.is(find({ ...connected, ...passes, isOverQuota: true }).code, 'quota_exceeded');
  t.is(find({ ...connected, isOverQuota: true }).code, 'quota_exceeded');
  t.is(find({ isOverQuota: true }).code, 'nothing_arrived', 'that is what it must solve first');
});

test('a connected device that cannot renew its session is not well', (t) => {
  const attempts = [confirmed(2 * MINUTE), replayed(1_000, 3_600_000)];
  const given = { attempts, handshakeAgoMs: 2 * MINUTE };
  t.is(find({ ...given, inside: { passedAtMs: NOW - 30_000 } }).code, 'dated_before');
  t.is(find({ ...given, inside: { passedAtMs: NOW } }).code, 'connected', 'it still passes');
  t.is(
    find({ attempts: [confirmed(MINUTE), attempt(1_000)], handshakeAgoMs: MINUTE }).code,
    'nothing_inside',
    'a renewal under way is no trouble',
  );
});

test('one key in two places', (t) => {
  const at = (agoMs: number, endpoint = home): Attempt => confirmed(agoMs, { endpoint });
  const given = { handshakeAgoMs: 1_000, inside: { passedAtMs: NOW } };
  t.like(find({ ...given, attempts: [at(30_000), at(20_000, away), at(1_000)] }), {
    code: 'key_used_twice',
  });
  const well: readonly Attempt[][] = [
    [at(20_000), at(1_000, away)],
    [at(30_000), at(20_000, away), at(1_000, away)],
    [at(30_000), at(20_000, away), at(1_000, { ...home, port: 9 })],
    [at(301_000), at(20_000, away), at(500)],
    [at(30_000), attempt(20_000, { endpoint: away }), at(1_000)],
  ];
  for (const attempts of well)
    t.is(find({ ...given, attempts }).code, 'connected', JSON.stringify(attempts));
  const twice = [at(60_000), at(50_000, away), at(40_000)];
  t.is(find({ ...given, attempts: [...twice, attempt(1_000)] }).code, 'key_used_twice');
  t.is(
    find({ attempts: [...twice, attempt(5_000)], handshakeAgoMs: 40_000 }).code,
    'not_confirmed',
    'what came after is another trouble',
  );
  const over = [at(5 * MINUTE), at(4.5 * MINUTE, away), at(4 * MINUTE)];
  t.is(find({ attempts: over }).code, 'nothing_arrived', 'that is over');
});

test('one key in two places, at two gateways', (t) => {
  const at = (agoMs: number, { address, port } = home): SeenConnection => ({
    connectedAt: NOW - agoMs,
    reason: 'elsewhere',
    remoteIp: address,
    remotePort: port,
  });
  const last = (agoMs: number, place = home): SeenConnection => ({
    ...at(agoMs, place),
    reason: null,
  });
  const connections = [last(1_000), at(15_000, away), at(30_000)];
  const here = { handshakeAgoMs: 1_000, inside: { passedAtMs: NOW } };
  for (const given of [here, { seen: seenAt('there', 1_000) }, { elsewhereAgoMs: 1_000 }])
    t.deepEqual(find({ ...given, connections }), {
      code: 'key_used_twice',
      attempts: [{ endpoint: home }, { endpoint: away }, { endpoint: home }],
    });
  const nowhere = { remoteIp: null, remotePort: null };
  const well: readonly SeenConnection[][] = [
    connections.slice(0, 2),
    [last(1_000), at(15_000), at(30_000)],
    [last(1_000), at(15_000, away), at(301_000)],
    [last(1_000), at(15_000, away), { ...at(30_000), reason: 'silent' }],
    [last(1_000), { ...at(15_000, away), ...nowhere }, at(30_000)],
    [last(180_000), at(190_000, away), at(200_000)],
  ];
  for (const some of well)
    t.is(find({ ...here, connections: some }).code, 'connected', JSON.stringify(some));
});

// ---- elsewhere -------------------------------------------------------------------------------

test('a device at another gateway', (t) => {
  const seen = seenAt('there', MINUTE);
  t.deepEqual(find({ seen, handshakeAgoMs: 2 * MINUTE }), {
    code: 'elsewhere',
    gatewayId: 'there',
    gatewayName: 'berlin',
    sinceMs: seen.sinceMs,
  });
  t.deepEqual(find({ elsewhereAgoMs: MINUTE }), {
    code: 'elsewhere',
    gatewayId: null,
    gatewayName: null,
    sinceMs: NOW - MINUTE,
  });
  const back = { seen, handshakeAgoMs: 30_000, inside: { passedAtMs: NOW } };
  t.is(find(back).code, 'connected', 'it came back');
  t.is(find({ seen: seenAt('there', 3 * MINUTE) }).code, 'nothing_arrived', 'it is not there');
  t.is(find({ seen: seenAt(HERE, MINUTE) }).code, 'nothing_arrived');
});

test('a device that is not heard, where there are other gateways', (t) => {
  const awayIn = (given: Given): unknown => {
    const found = find(given);
    return found.code === 'nothing_arrived' ? found.away : found.code;
  };
  t.is(awayIn({}), null);
  t.deepEqual(awayIn({ hasOthers: true }), { last: null, hasOthers: true });
  const silent = seenAt('there', 3 * MINUTE);
  const left = { gatewayName: 'berlin', isRunning: true };
  t.deepEqual(awayIn({ seen: silent }), { last: left, hasOthers: false });
  t.deepEqual(
    awayIn({ seen: { ...seenAt('there', MINUTE), isRunning: false }, elsewhereAgoMs: MINUTE }),
    { last: { ...left, isRunning: false }, hasOthers: false },
    'nobody is connected to a gateway that was killed',
  );
  t.is(awayIn({ seen: silent, handshakeAgoMs: 180_000 - 1 }), 'nothing_inside');
});
