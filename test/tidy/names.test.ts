// Every file that a comment, the title of a test or a page names exists in the repository, and so
// does every heading that one names in a page. The same holds for the links of pages.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';
import test from 'ava';

const ROOT = resolve(import.meta.dirname, '../..');

/** Names of files that are no files of the repository, with the reason. */
const NOT_OURS: Readonly<Record<string, string>> = {
  'ipaddr.js': 'a package',
  'example.test.ts': 'a file of whoever reads it',
  './lib/tweetnacl.js': 'an address of the console',
  './lib/uplot.js': 'an address of the console',
  './lib/uqr.js': 'an address of the console',
};

/** What tests write there, git ignores. */
const ARTEFACTS = /^test\/artefacts(\/|$)/;

/** A file by its name or by a path, of a kind that is written here by hand. */
const FILE =
  /(?<![\w./@<>$*{}-])((?:[\w.@-]+\/)*[\w-][\w.-]*\.(?:ts|js|cjs|cc|md|sh|eta|sql))(#[\w-]+)?(?![\w/*}>-])/g;
/** A file or folder of any kind by its path from the root. */
const PATH =
  /(?<![\w./@<>$*{}-])((?:config|models|dataplane|lib|test|docs|tools)\/[\w./-]*[\w-])()(?![\w/*}<>$-])/g;
/** A link of a page to another file, or into the page itself. */
const LINK = /\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)/g;

const tracked = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '');
const files = new Set(tracked.flatMap((path) => [path, ...foldersOf(path)]));
const endings = new Set(tracked.flatMap(endingsOf));

const named = tracked
  .filter((path) =>
    /\.(ts|js|cc|h|sh|md|yaml|eta|css|service)$|(^|\/)(Dockerfile|entrypoint|run)$/.test(path),
  )
  .flatMap((path) =>
    proseOf(path, readFileSync(join(ROOT, path), 'utf8')).flatMap((text) =>
      [...text.matchAll(FILE), ...text.matchAll(PATH)].map(([, name = '', anchor = '']) => ({
        path,
        name,
        anchor,
      })),
    ),
  );

test('every file that is named exists', (t) => {
  t.true(named.length > 500, `${named.length} names`);
  for (const { path, name } of named)
    if (NOT_OURS[name] === undefined && !ARTEFACTS.test(name))
      t.true(exists(path, name), `${path} names ${name}`);
});

test('every heading that is named exists', (t) => {
  const anchored = named.filter(({ anchor }) => anchor !== '');
  t.true(anchored.length > 100, `${anchored.length} headings`);
  for (const { path, name, anchor } of anchored)
    t.true(files.has(name) && anchorsOf(name).has(anchor), `${path} names ${name}${anchor}`);
});

test('every link of a page leads to a file that exists, and to a heading in it', (t) => {
  const links = tracked
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) =>
      [...readFileSync(join(ROOT, path), 'utf8').matchAll(LINK)].map(
        ([, target = '', anchor = '']) => ({
          path,
          name: target === '' ? path : normalize(join(dirname(path), target)).replace(/\/$/, ''),
          anchor,
        }),
      ),
    );
  t.true(links.length > 300, `${links.length} links`);
  for (const { path, name, anchor } of links) {
    t.true(files.has(name), `${path} links to ${name}`);
    if (anchor !== '' && files.has(name))
      t.true(anchorsOf(name).has(anchor), `${path} links to ${anchor} of ${name}`);
  }
});

test('no exception is left that nobody needs', (t) => {
  const names = new Set(named.map(({ name }) => name));
  for (const name of Object.keys(NOT_OURS)) t.true(names.has(name), name);
});

/** Whether a name leads to a file: from the root, from its reader's folder, or by its last parts. */
function exists(path: string, name: string): boolean {
  return files.has(name) || files.has(normalize(join(dirname(path), name))) || endings.has(name);
}

/** The folders around a file. */
function foldersOf(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join('/'));
}

/** The last parts of a path: `wire/ip.ts` and `ip.ts` of `dataplane/wire/ip.ts`. */
function endingsOf(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, i) => parts.slice(i).join('/'));
}

/** What of a file is written for people: comments and titles of tests, or the text of a page. */
function proseOf(path: string, text: string): string[] {
  if (path.endsWith('.md'))
    return [text.replaceAll(/^\s*(```|~~~)[\s\S]*?^\s*\1/gm, '').replaceAll(/\]\([^)]*\)/g, ']')];
  if (/\.(sh|yaml|service)$|(^|\/)(Dockerfile|entrypoint|run)$/.test(path))
    return text.match(/(?:^|\s)# .*$/gm) ?? [];
  const comments = text.match(/\/\*[\s\S]*?\*\/|(?:^|\s)\/\/ .*$/gm) ?? [];
  const titles = [...text.matchAll(/\b\w*[tT]est(?:\.serial)?\(\s*(['"`])(.*?)\1/g)];
  return [...comments, ...titles.map((title) => (title[2] ?? '').replace(/\S*\$\{.*/, ''))];
}

/** The anchors of the headings of a page, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return new Set(
    [...text.matchAll(/^#+ (.+)$/gm)].map(
      ([, title = '']) =>
        `#${title
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
          .replaceAll(' ', '-')}`,
    ),
  );
}
