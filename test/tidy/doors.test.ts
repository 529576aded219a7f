// The door of `models` offers what `lib` takes, and nothing else: who reads it learns what the
// database is used for. Tests import the rest from the files that have it.

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
