// A peer's own small rules: what it counts and what it keeps.

import test from 'ava';
import { Peer } from '../../../dataplane/wireguard/peer.ts';
import { counting } from '../../support/dataplane/packets.ts';
import { peer as configOf, placed } from '../../support/dataplane/simulation.ts';

function makePeer(): Peer {
  const config = placed(configOf({ key: 'key', ipv4: '10.0.0.2' }), 4);
  return new Peer(config, new Uint8Array(32), 70, 0);
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
    staged: [],
  });
});

test('what is received and sent is counted and is news', (t) => {
  const peer = makePeer();
  peer.countReceived(100, 0);
  peer.countReceived(80, 48);
  const sent = { txBytes: 0, txInnerBytes: 0 };
  t.like(peer, { rxBytes: 180, rxInnerBytes: 48, ...sent, hasNews: true });
  const other = makePeer();
  other.countSent(77, 13);
  const received = { rxBytes: 0, rxInnerBytes: 0 };
  t.like(other, { ...received, txBytes: 77, txInnerBytes: 13, hasNews: true });
});

test('a configuration is copied, the preshared key into its place', (t) => {
  const given = { ...configOf({ key: 'key', ipv4: '10.0.0.2' }), presharedKey: counting(32) };
  const place = new Uint8Array(32);
  const peer = new Peer(placed(given, 4), place, 70, 0);
  t.like(peer.config, given);
  t.is(peer.presharedKey, place);
  peer.config = { ...peer.config, mtu: 1_280 };
  t.deepEqual(place, counting(32));
  peer.config = { ...given, presharedKey: counting(32, 1) };
  t.deepEqual(place, counting(32, 1));
  t.deepEqual(given.presharedKey, counting(32), 'what was given stays as it was');
});

test('the addresses of a configuration are copied, also those of a Buffer', (t) => {
  const given = { ...configOf({ key: 'key' }), ipv4: Buffer.from([10, 0, 0, 2]) };
  const peer = new Peer(placed(given, 4), new Uint8Array(32), 70, 0);
  given.ipv4.fill(0);
  t.deepEqual(peer.config.ipv4, new Uint8Array([10, 0, 0, 2]));
});
