// What the query of a list may say, and cursors: any place there and back, and nothing else.

import test from 'ava';
import fc from 'fast-check';
import { nextPage, readCursor, readListQuery, writeCursor } from '../../../lib/api/paging.ts';
import { ApiError } from '../../../lib/kit/http/errors.ts';
import { text } from '../../../lib/kit/validation/fields.ts';
import { anyCharacter } from '../../support/api/characters.ts';
import { inSentences } from '../../../lib/kit/validation/validate.ts';

const filters = {
  size: { schema: text('Size.'), select: (size: string) => (size === '' ? null : { size }) },
};
const position = {
  inserted_at: new Date(1_700_000_000_123),
  id: '0193a0c0-0000-7000-8000-0000000000ff',
};

test('a cursor names a place, any place', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), fc.uuid(), (timeMs, id) => {
      const place = { inserted_at: new Date(timeMs), id };
      t.deepEqual(readCursor(writeCursor(place)), place);
    }),
  );
});

test('no other text is a cursor', (t) => {
  const good = writeCursor(position);
  t.is(good.length, 30);
  for (const bad of ['', 'x', good.slice(1), `${good}A`, `${good}=`, ` ${good}`, '/'.repeat(30)])
    t.is(readCursor(bad), null, bad);
  t.is(readCursor('_'.repeat(29) + 'w'), null, 'a year that databases do not know');
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (value) => {
      const read = readCursor(value);
      t.true(read === null || writeCursor(read) === value);
    }),
  );
});

test('nothing asked is the whole list; what is unknown is ignored', (t) => {
  for (const search of ['', '?', '?x=1', '?constructor=1&__proto__=2', '?LIMIT=x'])
    t.deepEqual(readListQuery(search, filters), { selected: {}, page: null, kept: [] }, search);
});

test('a query is read, and the next page keeps it', (t) => {
  const query = readListQuery('?size=a+b%26&limit=5', filters);
  t.deepEqual(query.selected, { size: 'a+b&' });
  t.deepEqual(query.page, { limit: 5 });
  const next = nextPage(query, position);
  t.is(next, `limit=5&size=a%2Bb%26&cursor=${writeCursor(position)}`);
  t.deepEqual(readListQuery(`?${next}`, filters), {
    ...query,
    page: { limit: 5, after: position },
  });
  const unlimited = readListQuery(`?cursor=${writeCursor(position)}`, filters);
  t.deepEqual(unlimited.page, { limit: 100, after: position });
  t.is(nextPage(unlimited, position), `cursor=${writeCursor(position)}`);
});

test('a value that no record has matches nothing', (t) => {
  t.is(readListQuery('?size=', filters).selected, null);
  t.is(readListQuery('?size=a&size=b', filters).selected, null);
  t.deepEqual(readListQuery('?size=a&size=a', filters).selected, { size: 'a' });
});

test('errors are named', (t) => {
  const error = t.throws(() => readListQuery('?limit=0&cursor=', filters), {
    instanceOf: ApiError,
  });
  t.deepEqual(inSentences(error.errors ?? {}), {
    limit: ['must be greater than or equal to 1'],
    cursor: ['is invalid'],
  });
});
