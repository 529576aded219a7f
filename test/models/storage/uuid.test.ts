// Ids: their form, and their order whatever the clock does.

import test from 'ava';
import { newId } from '../../../models/storage/uuid.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('an id is a UUID of version 7 that begins with the time', (t) => {
  const beforeMs = Date.now();
  const id = newId();
  t.regex(id, UUID_V7);
  const ms = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  // Other tests in this process may have pushed the time of ids a little ahead.
  t.true(ms >= beforeMs && ms <= Date.now() + 1000);
});

test('ids grow, however many are made in one millisecond', (t) => {
  const ids = Array.from({ length: 20_000 }, newId);
  t.deepEqual(ids, ids.toSorted());
  t.is(new Set(ids).size, ids.length);
  for (const id of ids) if (!UUID_V7.test(id)) t.fail(id);
});

test.serial('ids grow when the clock is set back', (t) => {
  const before = newId();
  const { now } = Date;
  try {
    Date.now = () => now() - 3_600_000;
    t.true(newId() > before);
  } finally {
    Date.now = now;
  }
});
