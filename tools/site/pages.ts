// The pages of the site: each Markdown page that links lead to from the README. A page has the path
// of its file with another ending, and each README is the index of its folder: links need no table.

import { readFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import type { Token, Tokens } from 'marked';
import { marked } from 'marked';

const ROOT = resolve(import.meta.dirname, '../..');
/** Where readers begin. */
export const HOME = 'README.md';
/** What has every page of the documentation, in the order of the menu. */
export const INDEX = 'docs/README.md';

/** A page as it was read. */
export interface Page {
  /** Its file in the repository. */
  readonly path: string;
  readonly title: string;
  readonly tokens: readonly Token[];
}

/** Where a link leads: to a file of the repository, and a heading in it. */
export interface Target {
  readonly path: string;
  /** `#heading`, or nothing. */
  readonly anchor: string;
}

/** Reads a file of the repository. */
export const readText = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** All pages, the first ones first that links lead to. */
export function readPages(): ReadonlyMap<string, Page> {
  const pages = new Map<string, Page>();
  const waiting = [HOME, INDEX];
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (pages.has(path)) continue;
    const tokens = marked.lexer(readText(path));
    pages.set(path, { path, title: titleOf(path, tokens), tokens });
    const found = linksIn(tokens).map(({ href }) => targetOf(path, href)?.path ?? '');
    waiting.push(...found.filter((name) => name.endsWith('.md')));
  }
  return pages;
}

/** Where a link of a page leads in the repository; null if it leads out. */
export function targetOf(page: string, href: string): Target | null {
  if (/^[a-z]+:/.test(href)) return null;
  const at = href.includes('#') ? href.indexOf('#') : href.length;
  const name = href.slice(0, at);
  const path = name === '' ? page : posix.join(posix.dirname(page), name);
  return { path: path.replace(/\/$/, ''), anchor: href.slice(at) };
}

/** The address of a page or of a picture, from the root of the site. */
export const addressOf = (path: string): string =>
  path.replace(/(^|\/)README\.md$/, '$1index.html').replace(/\.md$/, '.html');

/** An address as the page `from` writes it: the site works in any folder. */
export const relativeTo = (from: string, address: string): string =>
  posix.relative(posix.dirname(from), address) || posix.basename(address);

/** All links in some tokens, in their order. */
export function linksIn(tokens: readonly Token[]): Tokens.Link[] {
  const found: Tokens.Link[] = [];
  void marked.walkTokens([...tokens], (token) => {
    if (token.type === 'link') found.push(token as Tokens.Link);
  });
  return found;
}

/** The text of tokens, without what formats it. */
export function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'br') return ' ';
      if ('tokens' in token && token.tokens !== undefined) return plainText(token.tokens);
      return 'text' in token ? String(token.text) : '';
    })
    .join('');
}

function titleOf(path: string, tokens: readonly Token[]): string {
  const heading = tokens.find((token): token is Tokens.Heading => token.type === 'heading');
  if (heading?.depth !== 1) throw new Error(`${path} does not begin with its title`);
  return plainText(heading.tokens);
}
