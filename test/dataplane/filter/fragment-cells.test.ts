// The memory of fragments: what was stored comes back, from any byte to any other, whatever was
// stored and released before.

import test from 'ava';
import '../../support/dataplane/seeded-test.ts';
import { FRAGMENT_CELL_BYTES } from '../../../dataplane/constants.ts';
import { CELLS, FragmentCells } from '../../../dataplane/filter/fragment-cells.ts';
import { dice } from '../../support/dataplane/fragments.ts';
import { counting, turned, viewOf } from '../../support/dataplane/packets.ts';

const cellsOf = (bytes: Uint8Array): number => Math.ceil(bytes.length / FRAGMENT_CELL_BYTES);

test('what is stored comes back, in part and as a whole', (t) => {
  const roll = dice(21);
  const cells = new FragmentCells();
  const stored: [first: number, bytes: Uint8Array][] = [];
  for (let i = 0; i < 300; i++) {
    const bytes = counting(1 + roll(3_000), i);
    stored.push([cells.store(viewOf(bytes), 0, bytes.length, cellsOf(bytes)), bytes]);
    if (roll(3) === 0) cells.release(stored.splice(roll(stored.length), 1)[0]![0]);
  }
  const used = stored.reduce((sum, [, bytes]) => sum + cellsOf(bytes), 0);
  t.is(cells.free, CELLS - used);
  for (const [first, bytes] of stored) {
    const from = roll(bytes.length);
    const to = from + roll(bytes.length - from + 1);
    const target = new Uint8Array(to - from + 2);
    cells.copy(first, from, to, target, 1);
    t.deepEqual(target, Uint8Array.of(0, ...bytes.subarray(from, to), 0));
    t.true(cells.holds(first, from, viewOf(bytes), from, to - from));
    const other = turned(bytes, 8 * (bytes.length - 1));
    t.false(cells.holds(first, 0, viewOf(other), 0, other.length));
  }
  for (const [first] of stored) cells.release(first);
  t.is(cells.free, CELLS);
});

test('all cells can be used', (t) => {
  const cells = new FragmentCells();
  const bytes = counting(FRAGMENT_CELL_BYTES);
  const firsts = Array.from({ length: CELLS }, () =>
    cells.store(viewOf(bytes), 0, bytes.length, 1),
  );
  t.is(cells.free, 0);
  t.is(new Set(firsts).size, CELLS);
});
