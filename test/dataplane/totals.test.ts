// Totals of peers: what samples add up to, and what is forgotten.

import test from 'ava';
import type { PeerConfig, PeerSample } from '../../dataplane/contract.ts';
import { Totals } from '../../dataplane/totals.ts';
import { peer } from '../support/dataplane/simulation.ts';

const a = peer({ key: 'a', ipv4: '10.0.0.2' });
const b = peer({ key: 'b', endpoint: { address: '192.0.2.9', port: 9 } });

function byKey(...peers: (typeof a)[]): Map<string, PeerConfig> {
  return new Map(peers.map((one) => [one.publicKey, one]));
}

function sample(publicKey: string, fields: Partial<PeerSample>): PeerSample {
  return { ...nothing, publicKey, rxInnerBytes: 0, txInnerBytes: 0, ...fields };
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

test('an older handshake that is reported later does not replace the latest one', (t) => {
  const totals = new Totals();
  for (const latestHandshakeMs of [50, 40, null])
    totals.add([sample('a', { latestHandshakeMs })], byKey(a), 60);
  t.deepEqual([...totals.of(byKey(a))], [{ ...nothing, config: a, latestHandshakeMs: 50 }]);
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
  const local = '198.51.100.1';
  totals.add([sample('a', { rxBytes: 1, endpoint, local })], byKey(a, b), 100);
  // What is only sent tells nothing of the peer.
  totals.add([sample('a', { txBytes: 1 })], byKey(a, b), 200);
  t.deepEqual(totals.resumed(a), { ...a, resume: { endpoint, local, heardAtMs: 100 } });
  t.is(totals.resumed(b), b);
});

test('a peer that is elsewhere has no endpoint, and is resumed nowhere, until it is back', (t) => {
  const totals = new Totals();
  const endpoint = { address: '192.0.2.7', port: 7 };
  const seen = (latestHandshakeMs: number) => [
    sample('a', { rxBytes: 1, latestHandshakeMs, endpoint }),
  ];
  totals.add(seen(50), byKey(a, b), 60);
  t.deepEqual(totals.release(new Map([['a', 40]]), byKey(a, b)), new Map(), 'it came here since');
  t.deepEqual(totals.resumed(a).resume, { endpoint, local: null, heardAtMs: 60 });

  const heard = new Map([
    ['a', 70],
    ['b', 70],
    ['nobody', 70],
  ]);
  const moved = new Map([
    ['a', 70],
    ['b', 70],
  ]);
  t.deepEqual(totals.release(heard, byKey(a, b)), moved);
  t.deepEqual(totals.elsewhere(), moved);
  // Taken by the data plane before it heard of it.
  totals.add(seen(50), byKey(a, b), 71);
  for (const one of [a, b]) t.is(totals.resumed(one).resume, null);
  t.deepEqual(
    [...totals.of(byKey(a, b))].map((one) => [one.endpoint, one.rxBytes]),
    [
      [null, 2],
      [null, 0],
    ],
  );

  totals.add(seen(80), byKey(a, b), 90);
  t.deepEqual(totals.resumed(a).resume, { endpoint, local: null, heardAtMs: 90 });
  t.deepEqual([...totals.elsewhere().keys()], ['b']);
  totals.forget(['b']);
  t.deepEqual(totals.elsewhere(), new Map());
});
