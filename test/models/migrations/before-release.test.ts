// The names of the steps of before 1.0.0, in databases and backups.

import test from 'ava';
import {
  FIRST,
  FOLDED,
  SECOND,
  UNRELEASED,
  UnreleasedSchemaError,
  withoutUnreleased,
} from '../../../models/migrations/before-release.ts';

test('all of them are the first step of 1.0.0, and later steps stay', (t) => {
  t.deepEqual(withoutUnreleased([...UNRELEASED, '0002-more']), [FIRST, '0002-more']);
});

test('names of released steps stay as they are', (t) => {
  for (const names of [[], [FIRST], [FIRST, '0002-more'], ['9999-later']])
    t.deepEqual(withoutUnreleased(names), names);
});

test('some of them are refused, and the missing ones are named', (t) => {
  t.is(UNRELEASED.length, 15);
  for (const missing of UNRELEASED)
    t.throws(() => withoutUnreleased(UNRELEASED.filter((name) => name !== missing)), {
      instanceOf: UnreleasedSchemaError,
      message: new RegExp(`${missing} did not run.*last version before 1\\.0\\.0`),
    });
});

test('the steps between two releases are before the one that completes them', (t) => {
  t.is(FOLDED.size, 18);
  for (const name of FOLDED) t.true(FIRST < name && name < SECOND, name);
});
