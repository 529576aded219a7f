// The door of `models` offers what `lib` takes, and nothing else: who reads it learns what the
// database is used for. Tests import the rest from the files that have it. The doors of the program
// write by operations: none of them has a transaction of its own.

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';

const ROOT = resolve(import.meta.dirname, '../..');
const DOOR = 'models/index.ts';

/** Lists of names between braces, before the file that they are from. */
const LIST = /(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from\s+'([^']+)'/g;

/** Names in such lists; `which` is the name outside of the file where one has two. */
function namesIn(text: string, isFrom: (path: string) => boolean, which: 0 | -1): string[] {
  return [...text.matchAll(LIST)]
    .filter(([, , path = '']) => isFrom(path))
    .flatMap(([, names = '']) => names.split(','))
    .map((name) => name.trim().replace(/^type /, ''))
    .filter((name) => name !== '')
    .map((name) => name.split(' as ').at(which) ?? '');
}

test('everything that models offer is taken by lib', (t) => {
  const offered = namesIn(readFileSync(join(ROOT, DOOR), 'utf8'), () => true, -1);
  const files = readdirSync(join(ROOT, 'lib'), { recursive: true, encoding: 'utf8' });
  const taken = new Set(
    files
      .filter((path) => path.endsWith('.ts'))
      .flatMap((path) =>
        namesIn(
          readFileSync(join(ROOT, 'lib', path), 'utf8'),
          (from) => from.endsWith(`/${DOOR}`),
          0,
        ),
      ),
  );
  t.true(offered.length > 100);
  t.deepEqual(
    offered.filter((name) => !taken.has(name)),
    [],
    `take these out of ${DOOR}`,
  );
  t.deepEqual(
    [...taken].filter((name) => !offered.includes(name)),
    [],
    'the lists were read',
  );
});

/** Ways to write that are not operations: they belong below the doors. */
const WRITES = /\b(?:writeTransaction|undoneTransaction|writes\s*\.\s*(?:run|join)|new Writes)\b/;

/** Doors of the program that write by operations alone. */
const DOORS = ['lib/web', 'lib/cli'];

/** A command that works without a gateway makes the rooms for itself. */
const MAKES_ROOMS = 'lib/cli/rooms.ts';

test('no door has a transaction of its own', (t) => {
  for (const door of DOORS) {
    const files = readdirSync(join(ROOT, door), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => join(door, path))
      .filter((path) => path !== MAKES_ROOMS);
    t.true(files.length > 20, door);
    const writing = files.filter((path) => WRITES.test(readFileSync(join(ROOT, path), 'utf8')));
    t.deepEqual(writing, []);
  }
});

test('each way to write is seen', (t) => {
  for (const line of [
    'const { result } = await writeTransaction(database, work);',
    'await web.writes.run(caller, {',
    'return context.writes.join(caller, work, input);',
    '    .writes\n    .run(caller, work)',
    'const writes = new Writes(database);',
  ])
    t.regex(line, WRITES, line);
  t.notRegex('await performs(caller, id, sending)(web.rooms);', WRITES);
});
