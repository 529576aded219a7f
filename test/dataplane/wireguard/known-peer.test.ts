// What every worker knows of a peer.

import test from 'ava';
import { KnownPeer } from '../../../dataplane/wireguard/known-peer.ts';
import { peer, placed } from '../../support/dataplane/simulation.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const config = placed(peer({ key: KEY, ipv4: '10.0.0.2', ipv6: 'fd00::2' }), 9, 4);

test('a known peer has the place and the addresses of its configuration', (t) => {
  const known = new KnownPeer(config, 12, 1, false);
  t.is(known.id, KEY);
  t.deepEqual(known.publicKey, new Uint8Array(32).fill(7));
  t.deepEqual([known.slot, known.generation, known.endpointSlot], [9, 4, 12]);
  t.deepEqual([known.worker, known.isHere], [1, false]);
  t.deepEqual(known.ipv4, config.ipv4);
  t.deepEqual(known.ipv6, config.ipv6);
});

test('addresses are copied, and one that is gone is null', (t) => {
  const known = new KnownPeer(config, 12, 1, false);
  t.not(known.ipv4, config.ipv4);
  t.not(known.ipv6, config.ipv6);
  known.setAddresses({ ipv4: null, ipv6: config.ipv6 });
  t.is(known.ipv4, null);
  t.deepEqual(known.ipv6, config.ipv6);
});

test('before its first initiation, any timestamp is greater', (t) => {
  const known = new KnownPeer(config, 12, 0, true);
  t.deepEqual(known.greatestTimestamp, new Uint8Array(12));
  t.is(known.lastInitiationTakenAt, Number.NEGATIVE_INFINITY);
});
