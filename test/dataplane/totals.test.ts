// Totals of peers: what samples add up to, and what is forgotten.

import test from 'ava';
import type { PeerConfig, PeerSample } from '../../dataplane/contract.ts';
import { Totals } from '../../dataplane/totals.ts';
import { peer } from '../support/simulation.ts';

const a = peer({ key: 'a', ipv4: '10.0.0.2' });
const b = peer({ key: 'b', endpoint: { address: '192.0.2.9', port: 9 } });

function byKey(...peers: (typeof a)[]): Map<string, PeerConfig> {
  return new Map(peers.map((one) => [one.publicKey, one]));
}

function sample(publicKey: string, fields: Partial<PeerSample>): PeerSample {
  return { publicKey, latestHandshakeMs: null, endpoint: null, rxBytes: 0, txBytes: 0, ...fields };
}

const nothing = { rxBytes: 0, txBytes: 0, latestHandshakeMs: null, endpoint: null };

test('samples add up; what a later one does not know stays', (t) => {
  const totals = new Totals();
  const endpoint = { address: '192.0.2.1', port: 1 };
  totals.add([sample('a', { rxBytes: 5, latestHandshakeMs: 7, endpoint })], byKey(a, b), 50);
  totals.add([sample('a', { rxBytes: 2, txBytes: 3 })], byKey(a, b), 60);
  t.deepEqual(
    [...totals.of(byKey(a, b))],
    [
      { config: a, rxBytes: 7, txBytes: 3, latestHandshakeMs: 7, endpoint },
      { ...nothing, config: b, endpoint: { address: '192.0.2.9', port: 9 } },
    ],
  );
});

test('a peer that was removed is forgotten, also when its last news come late', (t) => {
  const totals = new Totals();
  totals.add([sample('a', { rxBytes: 5 })], byKey(a), 1);
  totals.forget(['a']);
  totals.add([sample('a', { rxBytes: 6 })], byKey(), 2);
  t.deepEqual([...totals.of(byKey())], []);
  t.deepEqual([...totals.of(byKey(a))], [{ ...nothing, config: a }]);
});

test('peers are resumed from where and when they were heard last', (t) => {
  const totals = new Totals();
  const endpoint = { address: '192.0.2.7', port: 7 };
  totals.add([sample('a', { rxBytes: 1, endpoint })], byKey(a, b), 100);
  // What is only sent tells nothing of the peer.
  totals.add([sample('a', { txBytes: 1 })], byKey(a, b), 200);
  t.deepEqual(totals.resumed(a), { ...a, resume: { endpoint, heardAtMs: 100 } });
  t.is(totals.resumed(b), b);
});
