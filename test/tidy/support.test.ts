// What tests share is in rooms, and the README of test says what each room holds.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';

const ROOT = resolve(import.meta.dirname, '../..');
const FILES_MAX = 20;

const files = execFileSync('git', ['ls-files', 'test/support'], { cwd: ROOT, encoding: 'utf8' })
  .trim()
  .split('\n')
  .map((path) => path.slice('test/support/'.length));
const rooms = Map.groupBy(files, (path) => path.split('/')[0]!);

test('each file is in one room, and no room is too full or has one file alone', (t) => {
  for (const path of files) t.is(path.split('/').length, 2, path);
  for (const [room, inside] of rooms)
    t.true(inside.length > 1 && inside.length <= FILES_MAX, `${room} has ${inside.length} files`);
});

test('the README of test names every room, and no other', (t) => {
  const page = readFileSync(join(ROOT, 'test/README.md'), 'utf8');
  const section = page.slice(page.indexOf('## Support, in rooms'), page.indexOf('## Runs'));
  const named = [...section.matchAll(/^- `(\w+)\/`: /gm)].map(([, room]) => room!);
  t.deepEqual(named.toSorted(), [...rooms.keys()].toSorted());
});
