// The list of what differs with each way out of the gateway is what the docs say.

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import test from 'ava';
import { differences, inParts, shownElsewhere, untried, withOwnWay } from '../e2e/ways.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGE = 'docs/guides/where-it-runs.md';
const COLUMNS = { tun: 1, sockets: 2, rootless: 3 } as const;

/** The rows of the table "What works", by their first cells. */
const rows = new Map(
  readFileSync(resolve(ROOT, PAGE), 'utf8')
    .split('## What works')[1]!
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )
    .map((cells) => [cells[0]!, cells]),
);
/** That of sockets, where a cell says so. */
const cellOf = (row: string, way: keyof typeof COLUMNS): string => {
  const cell = rows.get(row)?.[COLUMNS[way]] ?? '';
  return cell === 'the same' ? cellOf(row, 'sockets') : cell;
};
const read = (file: string): string => readFileSync(resolve(ROOT, file), 'utf8');

test('each difference is a test, and a row says it of each way', (t) => {
  for (const { file, title, ways, row } of differences) {
    t.true(read(`test/e2e/${file}`).includes(title), title);
    t.true(rows.has(row), row);
    for (const way of ways) t.not(cellOf(row, way), cellOf(row, 'tun'), `${way}: ${row}`);
  }
  for (const [row, ways] of Object.entries(inParts))
    for (const way of ways) t.not(cellOf(row, way), cellOf(row, 'tun'), `${way}: ${row}`);
  for (const { file, title } of untried) t.true(read(`test/e2e/${file}`).includes(title), title);
});

test('each row with a difference is in the list, or a test of its own shows it', (t) => {
  const named: ReadonlySet<string> = new Set([
    ...differences.map(({ row }) => row),
    ...Object.keys(inParts),
    ...Object.keys(shownElsewhere),
  ]);
  for (const row of rows.keys()) {
    if (row === '') continue;
    const isSame = cellOf(row, 'sockets') === cellOf(row, 'tun');
    t.is(named.has(row), !isSame, row);
  }
  for (const row of named) t.true(rows.has(row), row);
});

test('each file that is named exists', (t) => {
  for (const file of [...Object.keys(withOwnWay), ...Object.values(shownElsewhere)])
    t.true(existsSync(resolve(ROOT, file)), file);
});
