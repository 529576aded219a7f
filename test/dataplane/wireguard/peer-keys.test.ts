// Peers by the bytes of their public keys, beside a map by their text as a slow twin.

import test from 'ava';
import { Peer } from '../../../dataplane/wireguard/peer.ts';
import { PeerKeys } from '../../../dataplane/wireguard/peer-keys.ts';
import { peer, placed, randomBytes } from '../../support/dataplane/simulation.ts';
import { chance, seededTest } from '../../support/dataplane/seeded-test.ts';

function textOf(key: Uint8Array): string {
  return Buffer.from(key).toString('base64');
}

function peerOf(key: Uint8Array): Peer {
  return new Peer(placed(peer({ key: textOf(key) })), new Uint8Array(32), 0, 0);
}

seededTest(5, 'it finds who is there and nobody else, keys that begin alike or not', (t, seed) => {
  const random = chance(seed);
  const below = (limit: number): number => randomBytes(random, 1)[0]! % limit;
  const keys = Array.from({ length: 60 }, (_, i) => {
    const key = randomBytes(random, 32);
    // Of most, two bytes tell them apart, and the first four nothing.
    if (i < 40) key.fill(below(3), 0, 4).fill(0xff, 4);
    key[4 + below(28)] = below(256);
    return key;
  });
  const index = new PeerKeys();
  const twin = new Map<string, Peer>();
  for (let step = 0; step < 500; step++) {
    const key = keys[below(keys.length)]!;
    const present = twin.get(textOf(key));
    if (present === undefined) {
      const added = peerOf(key);
      index.add(added);
      twin.set(textOf(key), added);
    } else if (below(2) === 0) {
      index.remove(present);
      twin.delete(textOf(key));
    }
    t.true(keys.every((other) => index.find(other) === (twin.get(textOf(other)) ?? null)));
  }
});

test('to remove who is not there changes nothing', (t) => {
  const index = new PeerKeys();
  const there = peerOf(new Uint8Array(32).fill(1));
  index.add(there);
  for (const last of [1, 2]) index.remove(peerOf(new Uint8Array(32).fill(1).fill(last, 31)));
  t.is(index.find(there.publicKey), there);
  t.is(index.find(new Uint8Array(31).fill(1)), null, 'one byte short');
});
