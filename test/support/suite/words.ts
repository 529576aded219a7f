// The retired words of docs/glossary.md, and the files of the repository that hold one.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../../..');
const GLOSSARY = 'docs/glossary.md';

/** What people read: sources, pages, views, scripts. */
const READ_BY_PEOPLE =
  /\.(ts|js|eta|md|cc|h|sh|yaml|css|service)$|(^|\/)(Dockerfile|entrypoint|warm|grafana\.json)$/;
/** Texts that are not ours, and the three files that must name the words. */
const LEFT_ASIDE = [
  /^LICENSES\.md$/,
  /^docs\/glossary\.md$|^test\/(support\/suite|tidy)\/words\./,
  /^test\/(fuzz\/corpus|vectors|golden)\//,
];

/** How comments must not begin: they name something else and say nothing of their own. */
const BORROWED = /^\s*(?:\/\*\*|\/\/|\*) (?:The same\b|As `)/m;
/** Also what Linux calls so, and what 1.0.0 answered and logged. */
const ALLOWED =
  /\b(?:stands for|page faults?|Faults[':]|A fault of the gateway|fault: (?:messageOf|error))/gi;
/** Names made of a retired word, once the most frequent of all. */
const IN_NAMES = /[a-z]Faults?(?![a-z])|\bfaults?(?=[A-Z_])|(?<!DE)FAULTS?_|_FAULTS?\b/;

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
  const asked = text.replaceAll(ALLOWED, '');
  const found = patternOf(words).exec(asked) ?? IN_NAMES.exec(asked) ?? BORROWED.exec(text);
  return found?.[0].trim() ?? null;
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

function filesOfPeople(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return listed
    .split('\n')
    .filter((path) => READ_BY_PEOPLE.test(path) && !LEFT_ASIDE.some((one) => one.test(path)))
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
