// The first and the last line of a backup: what is none is refused with a reason.

import test from 'ava';
import { BackupError, FORMAT, parseHeader, parseTrailer } from '../../../models/backup/format.ts';

const header = {
  postern_backup: FORMAT,
  made_at: '2026-11-21T08:00:00.000Z',
  schema: ['0001-schema-of-1.0.0'],
  key: '01234567',
  tables: [{ name: 'users', columns: [{ name: 'id', kind: 'text' }], rows: 1 }],
};

test('a header is read as it was written', (t) => {
  t.deepEqual(parseHeader(JSON.stringify(header)) as unknown, header);
});

const bad: [string, unknown, RegExp][] = [
  ['text', 'SQLite format 3', /This is no backup of Postern/],
  ['other JSON', { name: 'postern' }, /This is no backup of Postern/],
  ['a later format', { ...header, postern_backup: 2 }, /has format 2, .* reads format 1; use/],
  ['no schema', { ...header, schema: 1 }, /first line of this backup is damaged/],
  ['a table that is none', { ...header, tables: [null] }, /damaged/],
  ['a name with SQL in it', table({ name: 'users; DROP' }), /damaged/],
  ['a column with SQL in it', table({ columns: [{ name: 'a,b', kind: 'text' }] }), /damaged/],
  ['an unknown kind', table({ columns: [{ name: 'id', kind: 'blob' }] }), /damaged/],
  ['a count that is none', table({ rows: -1 }), /damaged/],
];

function table(values: object) {
  return { ...header, tables: [{ ...header.tables[0], ...values }] };
}

for (const [what, value, message] of bad)
  test(`${what} is no header`, (t) => {
    const line = typeof value === 'string' ? value : JSON.stringify(value);
    t.throws(() => parseHeader(line), { instanceOf: BackupError, message });
  });

test('a trailer is read, and a row is none', (t) => {
  const trailer = { rows: 1, sha256: 'ab', seal: '1:k:v' };
  t.deepEqual(parseTrailer(JSON.stringify(trailer)), trailer);
  const refused = { instanceOf: BackupError, message: /a trailer should follow/ };
  for (const line of ['["id"]', '{"rows":1}', 'null', ''])
    t.throws(() => parseTrailer(line), refused);
});
