// Prettier formats every page of the repository, and wraps its prose at 100 columns.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';
import { getFileInfo, resolveConfig } from 'prettier';

const ROOT = resolve(import.meta.dirname, '../..');

/** Pages that a script writes or appends to; it does not wrap. */
const WRITTEN_BY_SCRIPTS = ['LICENSES.md', 'test/bench/RESULTS.md'];

const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((page) => page !== '' && !WRITTEN_BY_SCRIPTS.includes(page));

/** The most columns of a cell; a link counts as its text. */
const CELL_COLUMNS_MAX = 100;

test('cells of tables in READMEs can be read at a glance; what is longer is a list', (t) => {
  for (const page of pages.filter((path) => /(^|\/)README\.md$/.test(path)))
    for (const line of readFileSync(join(ROOT, page), 'utf8').split('\n'))
      for (const cell of line.startsWith('|') ? line.split(/(?<!\\)\|/) : []) {
        const { length } = cell.trim().replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
        t.true(length <= CELL_COLUMNS_MAX, `${page} has a cell of ${length} columns: ${cell}`);
      }
});

test('Prettier formats every page and wraps it at 100 columns', async (t) => {
  t.true(pages.length > 40, `${pages.length} pages`);
  for (const page of pages) {
    const path = join(ROOT, page);
    const { ignored } = await getFileInfo(path, { ignorePath: join(ROOT, '.prettierignore') });
    t.false(ignored, `${page} is left out by .prettierignore`);
    const options = await resolveConfig(path);
    t.is(options?.proseWrap, 'always', page);
    t.is(options?.printWidth, 100, page);
  }
});
