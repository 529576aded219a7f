// Who waits for a keypair, in which order, for how long, and who goes where there is no room.

import test from 'ava';
import {
  MAX_STAGED_BYTES,
  MAX_STAGED_PER_PEER,
  STAGED_TIME_MS,
} from '../../../dataplane/constants.ts';
import { reasons } from '../../../dataplane/reasons.ts';
import { Peer } from '../../../dataplane/wireguard/peer.ts';
import { Staging } from '../../../dataplane/wireguard/staging.ts';
import { counting } from '../../support/dataplane/packets.ts';
import { peer as configOf, placed } from '../../support/dataplane/simulation.ts';

function makePeer(): Peer {
  return new Peer(placed(configOf({ key: 'key' }), 4), new Uint8Array(32), 70, 0);
}

/** Stages packets whose first byte is their number; returns how many had to go for each. */
function stage(
  staging: Staging,
  peer: Peer,
  count: number,
  { length = 10, from = -1, at = 0 } = {},
): number[] {
  return Array.from({ length: count }, (_, i) =>
    staging.add(peer, { bytes: counting(length, i), headerBytes: 0, from, at }),
  );
}

function numbers(packets: readonly { readonly bytes: Uint8Array }[]): number[] {
  return packets.map(({ bytes }) => bytes[0]!);
}

test('packets are kept in order, their bytes counted, and are taken once', (t) => {
  const [staging, peer] = [new Staging(), makePeer()];
  t.deepEqual(stage(staging, peer, 3), [0, 0, 0]);
  t.is(staging.bytes, 30);
  t.deepEqual(numbers(staging.take(peer)), [0, 1, 2]);
  t.deepEqual(staging.take(peer), []);
  t.is(staging.bytes, 0);
  t.is(staging.nextDeadline, Number.POSITIVE_INFINITY);
});

test('one packet too many for a peer costs its oldest', (t) => {
  const [staging, peer, other] = [new Staging(), makePeer(), makePeer()];
  stage(staging, other, 1);
  t.deepEqual(stage(staging, peer, MAX_STAGED_PER_PEER + 2).slice(-3), [0, 1, 1]);
  t.is(peer.staged.length, MAX_STAGED_PER_PEER);
  t.is(peer.staged[0]!.bytes[0], 2);
  t.is(other.staged.length, 1);
  t.is(staging.bytes, 10 * (MAX_STAGED_PER_PEER + 1));
});

test('where all together have no room the oldest go, whosever they are', (t) => {
  const [staging, first, second, third] = [new Staging(), makePeer(), makePeer(), makePeer()];
  const half = { length: MAX_STAGED_BYTES / 2 - 10 };
  stage(staging, first, 1, half);
  stage(staging, second, 1, half);
  stage(staging, first, 2);
  t.deepEqual(stage(staging, third, 1, { length: 100 }), [1]);
  t.deepEqual(
    [first, second, third].map(({ staged }) => staged.length),
    [2, 1, 1],
  );
  t.deepEqual(stage(staging, third, 1, { length: MAX_STAGED_BYTES }), [4]);
  t.deepEqual(
    [first, second, third].map(({ staged }) => staged.length),
    [0, 0, 1],
  );
  t.is(staging.bytes, MAX_STAGED_BYTES);
});

test('what came from some peers is forgotten, the rest stays in order and is counted', (t) => {
  const [staging, peer] = [new Staging(), makePeer()];
  for (const [i, from] of [3, 4, -1, 3, 5].entries())
    staging.add(peer, { bytes: counting(10 + i), headerBytes: 0, from, at: i });
  staging.forgetFrom(new Set());
  t.is(peer.staged.length, 5);
  staging.forgetFrom(new Set([3, 5]));
  t.deepEqual(
    peer.staged.map(({ from }) => from),
    [4, -1],
  );
  t.is(staging.bytes, 11 + 12);
  t.is(staging.nextDeadline, 1 + STAGED_TIME_MS);
});

test('nothing waits for longer than a key lives', (t) => {
  const [staging, peer, other] = [new Staging(), makePeer(), makePeer()];
  stage(staging, peer, 2, { at: 1_000 });
  stage(staging, other, 1, { at: 2_000 });
  stage(staging, peer, 1, { at: 3_000 });
  t.is(staging.expire(1_000 + STAGED_TIME_MS - 1), 0);
  t.is(staging.nextDeadline, 1_000 + STAGED_TIME_MS);
  t.is(staging.expire(2_000 + STAGED_TIME_MS), 3);
  t.deepEqual([peer.staged.length, other.staged.length, staging.bytes], [1, 0, 10]);
  t.is(staging.expire(Number.MAX_SAFE_INTEGER), 1);
  t.is(staging.expire(Number.MAX_SAFE_INTEGER), 0);
});

test('each packet that is given up is handed on once, with its reason', (t) => {
  const lost: [first: number, peer: Peer, reason: number][] = [];
  const staging = new Staging(MAX_STAGED_BYTES, ({ bytes, peer }, reason) =>
    lost.push([bytes[0]!, peer as Peer, reason]),
  );
  const [peer, other] = [makePeer(), makePeer()];
  stage(staging, peer, MAX_STAGED_PER_PEER + 2);
  t.deepEqual(lost.splice(0), [
    [0, peer, reasons.staged_overflow],
    [1, peer, reasons.staged_overflow],
  ]);
  staging.take(peer);
  stage(staging, peer, 1, { from: 3 });
  staging.forgetFrom(new Set([3]));
  t.deepEqual(lost, [], 'those that are sent or forgotten are not given up');
  stage(staging, peer, 2);
  stage(staging, other, 1, { at: 1_000 });
  staging.drop(peer, reasons.peer_elsewhere);
  t.deepEqual(lost.splice(0), [
    [0, peer, reasons.peer_elsewhere],
    [1, peer, reasons.peer_elsewhere],
  ]);
  staging.expire(1_000 + STAGED_TIME_MS);
  t.deepEqual(lost, [[0, other, reasons.staged_expired]]);
});
