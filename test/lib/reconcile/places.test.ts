// Places of the data plane: whoever comes too late waits, and gets the next one in turn.

import test from 'ava';
import type { PeerConfig } from '../../../dataplane/index.ts';
import { Places } from '../../../lib/reconcile/places.ts';

const peer = {} as PeerConfig;

/** What some keys should be; the others of which nothing is said stay as they are. */
function assign(places: Places, serve: readonly string[], end: readonly string[] = []) {
  const peers = new Map<string, PeerConfig | null>([
    ...serve.map((key) => [key, peer] as const),
    ...end.map((key) => [key, null] as const),
  ]);
  const admitted = places.assign(peers);
  return { admitted, refused: serve.filter((key) => peers.get(key) === null) };
}

test('who comes when all places are taken waits', (t) => {
  const places = new Places(2);
  t.deepEqual(assign(places, ['a', 'b', 'c']), { admitted: [], refused: ['c'] });
  t.deepEqual(assign(places, ['d']), { admitted: [], refused: ['d'] });
  t.deepEqual([...places.waiting], ['c', 'd']);
});

test('a place that is free goes to whoever has waited longest, before those who come', (t) => {
  const places = new Places(2);
  assign(places, ['a', 'b', 'c', 'd']);
  t.deepEqual(assign(places, ['e'], ['a']), { admitted: ['c'], refused: ['e'] });
  t.deepEqual(assign(places, [], ['c', 'd', 'b']), { admitted: ['e'], refused: [] });
  t.is(places.waiting.size, 0);
});

test('who has a place keeps it when it changes', (t) => {
  const places = new Places(1);
  assign(places, ['a', 'b']);
  t.deepEqual(assign(places, ['a']), { admitted: [], refused: [] });
  t.deepEqual(assign(places, ['b']), { admitted: [], refused: ['b'] });
});

test('who waits and changes while a place becomes free is served as it is then', (t) => {
  const places = new Places(1);
  assign(places, ['a', 'b']);
  t.deepEqual(assign(places, ['b'], ['a']), { admitted: [], refused: [] });
});
