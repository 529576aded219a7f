// The retired words of docs/glossary.md, and which files of the repository still hold one.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..');
const GLOSSARY = 'docs/glossary.md';

/** Where the files are listed that still hold a retired word. */
export const WORDS_LEFT = join(ROOT, 'test/tidy/words-left.txt');

/** What people read: sources, pages, views, scripts. */
const READ_BY_PEOPLE =
  /\.(ts|js|eta|md|cc|h|sh|yaml|css|service)$|(^|\/)(Dockerfile|entrypoint|warm|grafana\.json)$/;
/** Texts that are not ours, and the two files that must name the words. */
const LEFT_ASIDE =
  /^(LICENSES\.md|docs\/glossary\.md|test\/(tidy\/words\.test\.|(fuzz\/corpus|vectors|golden)\/))/;

/** How comments must not begin: they name another thing instead of saying their own. */
const BORROWED = /^\s*(?:\/\*\*|\/\/|\*) (?:The same\b|As `)/m;
const ALLOWED = /\bstands for\b/gi;

/** The words in the first cells of the glossary's table. */
export function retiredWords(): string[] {
  const page = readFileSync(join(ROOT, GLOSSARY), 'utf8');
  const section = page.slice(page.indexOf('## Retired words'));
  return [...section.matchAll(/^\| (`[^|]*`) +\|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word!),
  );
}

/** Finds the first retired word of a text; null where there is none. */
export function retiredWordIn(
  text: string,
  words: readonly string[] = retiredWords(),
): string | null {
  const found = patternOf(words).exec(text.replaceAll(ALLOWED, ''));
  return found?.[0] ?? BORROWED.exec(text)?.[0].trim() ?? null;
}

/** The files that hold a retired word, with the first of it. */
export function filesWithRetiredWords(): Map<string, string> {
  const words = retiredWords();
  const found = new Map<string, string>();
  for (const path of filesOfPeople()) {
    const word = retiredWordIn(readFileSync(join(ROOT, path), 'utf8'), words);
    if (word !== null) found.set(path, word);
  }
  return found;
}

/** The listed files; some may have been moved since. */
export function wordsLeft(): string[] {
  if (!existsSync(WORDS_LEFT)) return [];
  return readFileSync(WORDS_LEFT, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
}

/**
 * The list after files became clean or moved. A file that is not listed gets no place, unless one
 * of its name was listed elsewhere.
 */
export function shortened(listed: readonly string[], found: Iterable<string>): string[] {
  const known = new Set(listed);
  const names = new Set(listed.map((path) => basename(path)));
  return [...found].filter((path) => known.has(path) || names.has(basename(path))).toSorted();
}

function filesOfPeople(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return listed
    .split('\n')
    .filter((path) => READ_BY_PEOPLE.test(path) && !LEFT_ASIDE.test(path))
    .filter((path) => existsSync(join(ROOT, path)));
}

/** Whole words in any case; spaces may be the end of a line with a comment's mark. */
function patternOf(words: readonly string[]): RegExp {
  const parts = words.map((word) =>
    word
      .split(' ')
      .map((part) => (part === '…' ? '[^.;:\\n]{1,40}?' : part))
      .join('(?:[ \\n*]|//)+'),
  );
  return new RegExp(`\\b(?:${parts.join('|')})\\b`, 'i');
}
