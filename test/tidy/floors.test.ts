// Nothing imports upward, rooms of one floor are strangers, and no files import each other in a
// circle, not for types either: ARCHITECTURE.md#floors. The floors are read from the pages that
// list them. That each of these can fail is tried on imports that are made up.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';
import {
  circleAmong,
  floorError,
  type Floors,
  floorsOf,
  type Imports,
  importsIn,
  pathOf,
  placeOf,
} from './floors.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** The gateway for test suites, and the second door that it alone may use. */
const TEST_ROOM = 'lib/testing/';
const TEST_DOOR = 'dataplane/memory/index.ts';

/** The start of the program, and the second door that it alone may use. */
const START_ROOM = 'lib/start/';
const START_DOOR = 'models/early.ts';

/** The rooms at the top of the tree. */
const HOUSE: Floors = [[['lib/']], [['models/'], ['dataplane/'], ['config/']]];

/** Folders of `lib` with floors of their own, listed by their pages. */
const PARTED = ['lib/domain', 'lib/installation', 'lib/kit', 'lib/observe'];

/** The floors inside of them. */
const INSIDE: Readonly<Record<string, Floors>> = {
  lib: floorsOf(read('lib/README.md'), 'lib'),
  dataplane: floorsOf(read('dataplane/README.md'), 'dataplane'),
  // Its README lists its rooms from the highest to the lowest; its doors are above all rooms.
  models: [
    [['models/index.ts'], [START_DOOR]],
    ...[...read('models/README.md').matchAll(/^(\w+)\/ {2,}/gm)].map(([, room]) => [
      [`models/${room}/`],
    ]),
  ],
  config: [[['config/']]],
  ...Object.fromEntries(
    PARTED.map((folder) => [folder, floorsOf(read(`${folder}/README.md`), folder)]),
  ),
};

const imports = readImports(['lib', 'models', 'dataplane', 'config']);

test('imports go downward and through the doors', (t) => {
  const arrows = [...imports].flatMap(([from, targets]) => targets.map((to) => ({ from, to })));
  t.true(arrows.length > 2_000, `${arrows.length} imports`);
  for (const { from, to } of arrows) t.is(importError(from, to), null, `${from} imports ${to}`);
});

test('no files import each other in a circle, not for types either', (t) => {
  t.is(circleAmong(imports), null);
});

test('every file is on a floor, and every place of a floor exists', (t) => {
  for (const path of imports.keys())
    for (const folder of [topOf(path), partOf(path) ?? topOf(path)])
      t.not(placeOf(INSIDE[folder] ?? [], path), null, `${path} is in no list of floors`);
  for (const place of Object.values(INSIDE).flat(3)) t.true(existsSync(join(ROOT, place)), place);
});

test('the floors that the pages of the rooms list are those of the architecture', (t) => {
  const order = (top: string, ...places: string[]): (number | undefined)[] =>
    places.map((place) => placeOf(INSIDE[top] ?? [], `${top}/${place}`)?.floor);
  const isDownward = (floors: (number | undefined)[]): boolean =>
    floors.every((floor, i) => floor !== undefined && (i === 0 || floor > (floors[i - 1] ?? 99)));
  // The highest first, one place of each.
  t.true(isDownward(order('lib', 'testing/', 'start/', 'api/', 'observe/', 'domain/', 'kit/')));
  t.true(isDownward(order('lib/kit', 'records/', 'http/', 'database/', 'process/')));
  t.true(isDownward(order('dataplane', 'gateway/', 'worker/', 'path/', 'filter/', 'wire/')));
  for (const [top, ...strangers] of [
    ['lib', 'api/', 'web/', 'cli/'],
    ['dataplane', 'wireguard/', 'filter/'],
  ] as const)
    t.is(new Set(order(top, ...strangers)).size, 1, strangers.join());
  t.is(INSIDE['models']?.at(-1)?.[0]?.[0], 'models/storage/');
});

// ---- that all of it can fail -------------------------------------------------------------------

const PAGE = `
| floor | place | what |
|---|---|---|
| 10 | [\`door/\`](door/README.md) | what \`people\` see |
| 10 | \`gate/\` | another door |
| 9 | \`start.ts\`, \`stop.ts\` | one room of two files |
| 0 | \`kit/\` | what all use |
`;

test('a page lists floors, the highest first', (t) => {
  t.deepEqual(floorsOf(PAGE, 'lib'), [
    [['lib/door/'], ['lib/gate/']],
    [['lib/start.ts', 'lib/stop.ts']],
    [['lib/kit/']],
  ]);
});

test('upward, to a stranger, and from or to nowhere are errors', (t) => {
  const floors = floorsOf(PAGE, 'lib');
  const rows: [from: string, to: string, error: string | null][] = [
    ['door/a.ts', 'kit/b.ts', null],
    ['door/a.ts', 'start.ts', null],
    ['door/a.ts', 'door/deep/b.ts', null],
    ['start.ts', 'stop.ts', null],
    ['kit/b.ts', 'door/a.ts', 'it goes upward'],
    ['stop.ts', 'gate/a.ts', 'it goes upward'],
    ['door/a.ts', 'gate/a.ts', 'rooms of one floor are strangers'],
    ['door/a.ts', 'attic/a.ts', 'lib/attic/a.ts is on no floor'],
    ['else.ts', 'kit/b.ts', 'lib/else.ts is on no floor'],
  ];
  for (const [from, to, error] of rows)
    t.is(floorError(floors, `lib/${from}`, `lib/${to}`), error, `${from} imports ${to}`);
});

test('rooms at the top know each other by their doors alone', (t) => {
  const rows: [from: string, to: string, isError: boolean][] = [
    ['lib/web/index.ts', 'models/index.ts', false],
    ['lib/web/index.ts', 'models/queries/rows.ts', true],
    ['lib/web/index.ts', TEST_DOOR, true],
    ['lib/testing/gateway.ts', TEST_DOOR, false],
    ['lib/start/obey.ts', START_DOOR, false],
    ['lib/cli/outcome.ts', START_DOOR, true],
    ['lib/testing/gateway.ts', 'dataplane/memory/node.ts', true],
    ['lib/start/serve.ts', 'lib/testing/index.ts', true],
    ['models/index.ts', 'dataplane/index.ts', true],
    ['dataplane/index.ts', 'models/index.ts', true],
    ['dataplane/index.ts', 'config/index.ts', true],
    ['models/index.ts', 'lib/start/serve.ts', true],
    ['dataplane/filter/judge.ts', 'dataplane/wireguard/peer.ts', true],
    ['dataplane/wireguard/peer.ts', 'dataplane/filter/judge.ts', true],
    ['lib/web/index.ts', 'lib/api/body.ts', true],
    ['lib/kit/records/writes.ts', 'lib/kit/process/log.ts', false],
    ['lib/kit/process/log.ts', 'lib/kit/records/writes.ts', true],
    ['lib/domain/devices/checks.ts', 'lib/api/body.ts', true],
  ];
  for (const [from, to, isError] of rows)
    t.is(importError(from, to) !== null, isError, `${from} imports ${to}`);
});

test('every way to import is seen, for types too', (t) => {
  const rows: [text: string, ...names: string[]][] = [
    [`import { a } from './a.ts';`, './a.ts'],
    [`import type { A } from './a.ts';`, './a.ts'],
    [`import {\n  a,\n  type B,\n} from "../b.js";`, '../b.js'],
    [`import b, * as c from './b.ts';`, './b.ts'],
    [`export { a } from './a.ts';`, './a.ts'],
    [`export type { A } from './a.ts';`, './a.ts'],
    [`export * from './a.ts';`, './a.ts'],
    [`import './a.ts';`, './a.ts'],
    [`const { a } = await import('./a.ts');`, './a.ts'],
    ['await import(\n  `./a.ts`,\n)', './a.ts'],
    [`type A = typeof import('./a.ts');`, './a.ts'],
    [`const a = require('./a.js');`, './a.js'],
    [`new Worker(new URL('./thread.ts', import.meta.url))`, './thread.ts'],
    [`import process from 'node:process';\nimport { a } from './a.ts';`, 'node:process', './a.ts'],
    [`const from = './a.ts'; const exported = [from];`],
    [`new URL('./page.eta', import.meta.url)`],
  ];
  for (const [text, ...names] of rows) t.deepEqual(importsIn(text), names, text);
  t.is(pathOf('lib/web/index.ts', '../api/body.ts'), 'lib/api/body.ts');
  t.is(pathOf('lib/web/index.ts', 'pino'), null);
});

test('a circle is found, however long, and beside files that are in none', (t) => {
  const graph = (rows: Record<string, string[]>): Imports => new Map(Object.entries(rows));
  t.is(circleAmong(graph({ a: ['b', 'c'], b: ['c'], c: [] })), null);
  t.deepEqual(circleAmong(graph({ a: ['a'] })), ['a', 'a']);
  t.deepEqual(circleAmong(graph({ a: ['b'], b: ['c'], c: ['b'] })), ['b', 'c', 'b']);
  t.deepEqual(circleAmong(graph({ x: ['d'], a: ['b'], b: ['c'], c: ['d', 'a'], d: [] })), [
    'a',
    'b',
    'c',
    'a',
  ]);
});

// ---- reading the tree --------------------------------------------------------------------------

/** Why one file must not import another one; null where it may. */
function importError(from: string, to: string): string | null {
  const [upper, lower] = [topOf(from), topOf(to)];
  const part = partOf(from);
  if (part !== null && part === partOf(to)) return floorError(INSIDE[part] ?? [], from, to);
  if (upper === lower) return floorError(INSIDE[upper] ?? [], from, to);
  if (to === TEST_DOOR && from.startsWith(TEST_ROOM)) return null;
  if (to === START_DOOR && from.startsWith(START_ROOM)) return null;
  const error = floorError(HOUSE, from, to);
  if (error !== null || to === `${lower}/index.ts`) return error;
  return `${lower} has one door, ${lower}/index.ts`;
}

function topOf(path: string): string {
  return path.split('/')[0] ?? '';
}

/** The folder with floors of its own in which a file is; null where it is in none. */
function partOf(path: string): string | null {
  return PARTED.find((folder) => path.startsWith(`${folder}/`)) ?? null;
}

/** What each script of these folders imports of them. */
function readImports(folders: readonly string[]): Imports {
  const paths = folders
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(
        (name) => `${folder}/${name}`,
      ),
    )
    .filter((path) => /\.[jt]s$/.test(path) && !/\.d\.ts$|(^|\/)(build|node_modules)\//.test(path));
  const known = new Set(paths);
  return new Map(
    paths.map((path) => [
      path,
      importsIn(read(path))
        .map((name) => pathOf(path, name))
        .filter((target) => target !== null)
        .filter((target) => known.has(target)),
    ]),
  );
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}
