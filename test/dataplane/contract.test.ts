// The border as plain data: batches, and the numbers that an engine and the packet path share.

import test from 'ava';
import * as contract from '../../dataplane/contract.ts';

test('a batch is an empty arena, seen as bytes and as a view, and its descriptors', (t) => {
  const batch = contract.createBatch(1_000, 7);
  t.is(batch.bytes.length, 1_000);
  t.is(batch.view.byteLength, 1_000);
  t.is(batch.bytes.buffer, batch.view.buffer);
  t.is(batch.descriptors.length, 7 * contract.DESCRIPTOR_WORDS);
  t.is(batch.count, 0);
});

function numbersNamed(prefix: RegExp): number[] {
  return Object.entries(contract)
    .filter(([name, value]) => prefix.test(name) && typeof value === 'number')
    .map(([, value]) => value as number)
    .sort((a, b) => a - b);
}

test('marks are distinct, and zero does nothing', (t) => {
  const marks = numbersNamed(/^MARK_/);
  t.deepEqual(
    marks,
    marks.map((_, i) => i),
  );
  t.is(contract.MARK_DROP, 0);
});

test('the words of a descriptor are distinct and inside it', (t) => {
  const words = numbersNamed(/^(OFFSET|LENGTH|KEY|GENERATION|MARK|ADDRESS|DATAGRAMS)$/);
  t.is(new Set(words).size, 7);
  t.true(words.every((word) => word < contract.DESCRIPTOR_WORDS));
});

test('errors are the places of their counters', (t) => {
  const errors = numbersNamed(/^ERROR_(?!COUNT)/);
  t.deepEqual(
    errors,
    Array.from({ length: contract.ERROR_COUNT }, (_, i) => i),
  );
});

test('the global scope is a name that no owner can have', (t) => {
  t.is(contract.GLOBAL_SCOPE, '');
});
