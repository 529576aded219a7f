// When the worker's heap is collected.

import test from 'ava';
import { HeapKeeper } from '../../../dataplane/io/heap.ts';

const MB = 1024 * 1024;

/** A heap that is as large as `heap.mb` says, and of which `heap.alive` live. */
function scene(): { heap: { mb: number; alive: number; collections: number }; keeper: HeapKeeper } {
  const heap = { mb: 6, alive: 6, collections: 0 };
  const collect = (): void => {
    heap.collections++;
    heap.mb = heap.alive;
  };
  return { heap, keeper: new HeapKeeper(collect, () => heap.mb * MB) };
}

test('a heap that has grown by two megabytes is collected, and again when it has grown anew', (t) => {
  const { heap, keeper } = scene();
  const seen = [];
  for (let seconds = 0; seconds <= 120; seconds += 10) {
    keeper.look(seconds * 1_000);
    seen.push(heap.collections);
    heap.mb += 0.5;
  }
  t.deepEqual(seen, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3]);
});

test('it is looked at every ten seconds, however often there is time', (t) => {
  const { heap, keeper } = scene();
  keeper.look(0);
  heap.mb = 9;
  for (let ms = 100; ms < 10_000; ms += 100) keeper.look(ms);
  t.is(heap.collections, 0);
  keeper.look(10_000);
  t.is(heap.collections, 1);
});

test('what lives is not collected again and again', (t) => {
  const { heap, keeper } = scene();
  keeper.look(0);
  heap.mb = 9;
  heap.alive = 9;
  for (let seconds = 10; seconds < 100; seconds += 10) keeper.look(seconds * 1_000);
  t.is(heap.collections, 1);
});

test('growth counts from where a collection of V8’s own ended', (t) => {
  const { heap, keeper } = scene();
  heap.mb = 9;
  keeper.look(0);
  heap.mb = 7;
  keeper.look(10_000);
  heap.mb = 8.9;
  keeper.look(20_000);
  t.is(heap.collections, 0);
  heap.mb = 9;
  keeper.look(30_000);
  t.is(heap.collections, 1);
});

test('a heap in which much lives is left to V8, which need not stop for it', (t) => {
  const { heap, keeper } = scene();
  heap.mb = 8.1;
  keeper.look(0);
  heap.mb = 20;
  keeper.look(10_000);
  t.is(heap.collections, 0);
});

test('garbage that grew while nobody looked is collected, as much as V8 lets grow', (t) => {
  const { heap, keeper } = scene();
  keeper.look(0);
  heap.mb = 16;
  keeper.look(600_000);
  t.is(heap.collections, 1);
});

test('what came since the last look and is more than that may live, and stops nobody', (t) => {
  const { heap, keeper } = scene();
  keeper.look(0);
  heap.mb = 16.1;
  keeper.look(10_000);
  heap.mb = 45;
  keeper.look(20_000);
  t.is(heap.collections, 0);
  heap.mb = 7;
  keeper.look(30_000);
  heap.mb = 9;
  keeper.look(40_000);
  t.is(heap.collections, 1, 'V8 has found that it did not');
});

test('without a collector there is nothing to do', (t) => {
  const keeper = new HeapKeeper(null, () => t.fail() as never);
  t.notThrows(() => keeper.look(0));
});

test('the heap of this thread is read', (t) => {
  let collections = 0;
  const keeper = new HeapKeeper(() => collections++);
  keeper.look(0);
  keeper.look(10_000);
  t.is(collections, 0, 'nothing grew');
});
