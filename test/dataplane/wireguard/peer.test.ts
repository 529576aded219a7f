// A peer's own small rules: what it counts and what it keeps.

import test from 'ava';
import { MAX_STAGED_PER_PEER } from '../../../dataplane/constants.ts';
import { Peer } from '../../../dataplane/wireguard/peer.ts';
import { counting } from '../../support/packets.ts';
import { peer as configOf } from '../../support/simulation.ts';

function makePeer(): Peer {
  return new Peer(
    configOf({ key: 'key', ipv4: '10.0.0.2' }),
    counting(32),
    new Uint8Array(32),
    4,
    70,
  );
}

function stage(peer: Peer, count: number, length = 10): number[] {
  return Array.from({ length: count }, (_, i) =>
    peer.stage({ bytes: counting(length, i), from: -1, headerBytes: 0 }),
  );
}

test('a peer begins without keypairs, endpoint news or staged packets', (t) => {
  t.like(makePeer(), {
    id: 'key',
    slot: 4,
    endpointSlot: 70,
    previous: null,
    current: null,
    next: null,
    initiator: null,
    latestHandshakeMs: null,
    hasNews: false,
    stagedBytes: 0,
  });
});

test('what is received and sent is counted and is news', (t) => {
  const peer = makePeer();
  peer.countReceived(100);
  peer.countReceived(20);
  t.like(peer, { rxBytes: 120, txBytes: 0, hasNews: true });
  const other = makePeer();
  other.countSent(7);
  t.like(other, { rxBytes: 0, txBytes: 7, hasNews: true });
});

test('staged packets are kept in order, and their bytes counted', (t) => {
  const peer = makePeer();
  t.deepEqual(stage(peer, 3, 10), [0, 0, 0]);
  t.deepEqual(
    peer.staged.map((packet) => packet.bytes[0]),
    [0, 1, 2],
  );
  t.is(peer.stagedBytes, 30);
});

test('one packet too many costs the oldest', (t) => {
  const peer = makePeer();
  const dropped = stage(peer, MAX_STAGED_PER_PEER + 2);
  t.deepEqual(dropped.slice(-3), [0, 1, 1]);
  t.is(peer.staged.length, MAX_STAGED_PER_PEER);
  t.is(peer.staged[0]!.bytes[0], 2);
  t.is(peer.stagedBytes, 10 * MAX_STAGED_PER_PEER);
});

test('forgetting the staged packets leaves none, and says how many there were', (t) => {
  const peer = makePeer();
  stage(peer, 5);
  t.is(peer.clearStaged(), 5);
  t.is(peer.clearStaged(), 0);
  t.like(peer, { stagedBytes: 0 });
  t.is(peer.staged.length, 0);
});

test('dropping the oldest of none does nothing', (t) => {
  const peer = makePeer();
  peer.dropOldestStaged();
  t.is(peer.stagedBytes, 0);
});

test('what waits from some peers is forgotten, the rest stays in order and is counted', (t) => {
  const peer = makePeer();
  for (const [i, from] of [3, 4, -1, 3, 5].entries())
    peer.stage({ bytes: counting(10 + i), headerBytes: 0, from });
  peer.dropStagedFrom(new Set([3, 5]));
  t.deepEqual(
    peer.staged.map(({ from }) => from),
    [4, -1],
  );
  t.is(peer.stagedBytes, 11 + 12);
});

test('a configuration is copied, the preshared key into its place', (t) => {
  const given = { ...configOf({ key: 'key', ipv4: '10.0.0.2' }), presharedKey: counting(32) };
  const place = new Uint8Array(32);
  const peer = new Peer(given, counting(32), place, 4, 70);
  t.deepEqual(peer.config, given);
  t.is(peer.presharedKey, place);
  peer.config = { ...peer.config, mtu: 1_280 };
  t.deepEqual(place, counting(32));
  peer.config = { ...given, presharedKey: counting(32, 1) };
  t.deepEqual(place, counting(32, 1));
  t.deepEqual(given.presharedKey, counting(32), 'what was given stays as it was');
});

test('the addresses of a configuration are copied, also those of a Buffer', (t) => {
  const given = { ...configOf({ key: 'key' }), ipv4: Buffer.from([10, 0, 0, 2]) };
  const peer = new Peer(given, counting(32), new Uint8Array(32), 4, 70);
  given.ipv4.fill(0);
  t.deepEqual(peer.config.ipv4, new Uint8Array([10, 0, 0, 2]));
});
