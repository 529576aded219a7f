// Prettier formats every page of the repository, and wraps its prose at 100 columns.

import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import test from 'ava';
import { getFileInfo, resolveConfig } from 'prettier';

const ROOT = resolve(import.meta.dirname, '../..');

/** Pages that a script writes or appends to; it does not wrap. */
const WRITTEN_BY_SCRIPTS = ['LICENSES.md', 'test/bench/RESULTS.md'];

const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((page) => page !== '' && !WRITTEN_BY_SCRIPTS.includes(page));

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
