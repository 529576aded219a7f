// Receiver indices: random, never given twice, bounded.

import test from 'ava';
import { MAX_INDICES } from '../../../dataplane/constants.ts';
import { IndexTable } from '../../../dataplane/wireguard/index-table.ts';
import { viewOf } from '../../support/dataplane/packets.ts';
import { chance } from '../../support/dataplane/seeded-test.ts';

/** Randomness that says these numbers one after the other. */
function saying(...numbers: number[]): (bytes: Uint8Array) => void {
  return (bytes) => viewOf(bytes).setInt32(0, numbers.shift()!, true);
}

test('a handshake and a keypair are found by their index, each as what it is', (t) => {
  const table = new IndexTable<string, string>(chance(1));
  const a = table.addHandshake('handshake')!;
  const b = table.addKeypair('keypair')!;
  t.is(table.handshake(a), 'handshake');
  t.is(table.keypair(a), undefined);
  t.is(table.keypair(b), 'keypair');
  t.is(table.handshake(b), undefined);
});

// docs/bugs-of-others.md#bug-6: random indices.
test('indices are drawn from all 32 bits', (t) => {
  const table = new IndexTable<number, number>(chance(1));
  const indices = Array.from({ length: 1_000 }, (_, i) => table.addHandshake(i)!);
  for (let bit = 0; bit < 32; bit++) {
    const set = indices.filter((index) => ((index >>> bit) & 1) === 1).length;
    t.true(set > 350 && set < 650, `bit ${bit}: ${set}`);
  }
});

test('indices are signed, as a DataView reads them from a message', (t) => {
  const table = new IndexTable<string, string>(saying(-1));
  t.is(table.addHandshake('x'), -1);
});

test('an index that a handshake has is drawn again', (t) => {
  const table = new IndexTable<string, string>(saying(7, 7, 7, 8));
  table.addHandshake('first');
  t.is(table.addHandshake('second'), 8);
  t.is(table.handshake(7), 'first');
});

test('an index that a keypair has is drawn again', (t) => {
  const table = new IndexTable<string, string>(saying(7, 7, 9));
  table.addKeypair('first');
  t.is(table.addHandshake('second'), 9);
  t.is(table.keypair(7), 'first');
});

test('a keypair inherits the index of its handshake', (t) => {
  const table = new IndexTable<string, string>(chance(2));
  const index = table.addHandshake('handshake')!;
  table.promote(index, 'keypair');
  t.is(table.handshake(index), undefined);
  t.is(table.keypair(index), 'keypair');
  t.is(table.size, 1);
});

test('a removed index is unknown, and free', (t) => {
  const table = new IndexTable<string, string>(saying(7, 8, 7, 8));
  table.addHandshake('a');
  table.addKeypair('b');
  table.remove(7);
  table.remove(8);
  t.is(table.size, 0);
  t.is(table.handshake(7), undefined);
  t.is(table.keypair(8), undefined);
  t.is(table.addKeypair('c'), 7);
});

test('removing what is not there does nothing', (t) => {
  const table = new IndexTable<string, string>(chance(3));
  table.addHandshake('a');
  table.remove(12_345);
  t.is(table.size, 1);
});

test('a full table gives nothing more, and gives again once something is removed', (t) => {
  const random = chance(4);
  const table = new IndexTable<number, number>(random);
  let last = 0;
  for (let i = 0; i < MAX_INDICES; i++)
    last = (i % 2 === 0 ? table.addHandshake(i) : table.addKeypair(i))!;
  t.is(table.size, MAX_INDICES);
  t.is(table.addHandshake(-1), null);
  t.is(table.addKeypair(-1), null);
  table.remove(last);
  t.not(table.addKeypair(-1), null);
});
