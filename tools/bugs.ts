// The page docs/bugs-of-others.md, the tests that point at its claims, and how the links between
// them are written.

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..');
/** The page, by its path. */
export const BUGS_PAGE = join(ROOT, 'docs/bugs-of-others.md');

const POINTER = /^\s*\/\/ docs\/bugs-of-others\.md#bug-(\d+): (.+)\.$/;
const ANY_POINTER = /^\s*\/\/.*bugs-of-others\.md/;

/** A comment above a test that names a claim of the page. */
export interface Pointer {
  /** The test, from the root of the repository. */
  readonly file: string;
  readonly line: number;
  /** NaN and '' where the comment cannot be read. */
  readonly bug: number;
  readonly claim: string;
  /** The code below it. */
  readonly below: string;
}

/** A claim of the page, with the files that it links. */
export interface Claim {
  readonly bug: number;
  readonly claim: string;
  readonly files: readonly string[];
}

/** Every comment of a test that names the page. */
export function readPointers(): Pointer[] {
  return readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts') && path !== 'bugs-of-others.test.ts')
    .sort()
    .flatMap((path) => {
      const lines = readFileSync(join(ROOT, 'test', path), 'utf8').split('\n');
      return lines.flatMap((line, i) => {
        if (!ANY_POINTER.test(line)) return [];
        const [, bug = '', claim = ''] = POINTER.exec(line) ?? [];
        const below = lines.slice(i).find((one) => !/^\s*\/\//.test(one)) ?? '';
        return [{ file: `test/${path}`, line: i + 1, bug: Number(bug || NaN), claim, below }];
      });
    });
}

/** The claims of a text of the page, in their order. */
export function readClaims(text: string): Claim[] {
  const [, ...bugs] = text.split(/^## Bug /m);
  return bugs.flatMap((section) =>
    [...section.matchAll(CLAIM)].map(([, claim = '', links = '']) => ({
      bug: Number.parseInt(section, 10),
      claim,
      files: [...links.matchAll(/\]\(\.\.\/([^)]+)\)/g)].map((link) => link[1] ?? ''),
    })),
  );
}

/** An entry of a list; it ends before an empty line or the next entry. */
const CLAIM = /^- ([^:]+):((?:(?!\n\n|\n- )[\s\S])*)/gm;

/** The files that point at a claim. */
export function filesOf(pointers: readonly Pointer[], { bug, claim }: Claim): string[] {
  const found = pointers.filter((one) => one.bug === bug && one.claim === claim);
  return [...new Set(found.map(({ file }) => file))].sort();
}

/** The text of the page with the links that the tests ask for. */
export function withLinks(text: string, pointers: readonly Pointer[]): string {
  return text
    .split(/^(?=## Bug )/m)
    .map((section) => {
      const bug = Number(/^## Bug (\d+)/.exec(section)?.[1]);
      return section.replace(CLAIM, (entry, claim: string) => {
        const files = filesOf(pointers, { bug, claim, files: [] });
        const links = files.map((file) => `[${file.slice('test/'.length)}](../${file})`);
        return links.length === 0 ? entry : `- ${claim}: ${links.join(', ')}`;
      });
    })
    .join('');
}
