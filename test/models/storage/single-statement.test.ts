// One statement in a text, and no other hidden behind a quote or a comment.

import test from 'ava';
import { singleStatement } from '../../../models/storage/single-statement.ts';

const good: [sql: string, sent?: string][] = [
  ['SELECT 1'],
  ['START TRANSACTION;', 'START TRANSACTION'],
  ['SELECT 1; \n', 'SELECT 1'],
  ["SELECT 'a;b'"],
  [String.raw`SELECT 'it\'s; two', 'it''s; two'`],
  ['SELECT `a;b`, "c;d"'],
  [String.raw`SELECT '\\', ';'`],
  ["INSERT INTO rules VALUES ('--', '/* ; */', '#;')"],
  [`SELECT '${"\\'; DROP TABLE users; --".repeat(100_000)}'`],
  [`SELECT '${' '.repeat(1_000_000)}x'`],
];
for (const [i, [sql, sent = sql]] of good.entries())
  test(`one statement is sent without its end, row ${i + 1}`, (t) => {
    t.is(singleStatement(sql), sent);
  });

const bad = [
  'SELECT 1; DROP TABLE users',
  "SELECT 'a'; DROP TABLE users; -- '",
  String.raw`SELECT '\\'; DROP TABLE users; -- '`,
  "SELECT 1 /* ' */; DROP TABLE users -- '",
  "SELECT 1 -- '\n; DROP TABLE users -- '",
  "SELECT 1 # '\n; DROP TABLE users -- '",
  "SELECT 'never ends; DROP TABLE users",
  'SELECT "a"; DROP TABLE users; -- "',
  'SELECT `a`; DROP TABLE users; -- `',
  'SELECT 1;; SELECT 2',
  '/*!50000 SELECT 1 */; SELECT 2',
  // MySQL has such quotes too, and this one hides where the next begins.
  "SELECT $$'$$; DROP TABLE users; -- '",
  // These would take in the statement that is joined behind them, or a part of it.
  "SELECT 'never ends",
  'SELECT "never ends',
  'SELECT `never ends',
  String.raw`SELECT 'never ends\'`,
  'SELECT 1 -- the rest',
  'SELECT 1 # the rest',
  'SELECT 1 /* the rest',
];
for (const sql of bad)
  test(`several are refused: ${sql}`, (t) => {
    t.throws(() => singleStatement(sql), { message: /more than one statement/ });
  });
