// The menu of the site is the list of docs/README.md: its parts, and of each entry the first link.
// Further links of an entry are entries below it.

import type { Token, Tokens } from 'marked';
import { HOME, INDEX, linksIn, plainText, targetOf, type Page } from './pages.ts';

/** An entry of the menu. */
export interface Entry {
  readonly path: string;
  readonly label: string;
  readonly below: Entry[];
}

/** Entries under a heading. */
export interface Part {
  readonly title: string;
  readonly entries: Entry[];
}

/** The parts of the menu; each page is in it once. */
export function menuOf(index: Page): Part[] {
  const parts: Part[] = [];
  const known = new Set([HOME, INDEX]);
  let above = '';
  for (const token of index.tokens) {
    if (token.type === 'paragraph') {
      const text = plainText((token as Tokens.Paragraph).tokens);
      if (isStrong(token as Tokens.Paragraph)) above = text;
      const title = text.endsWith(':') ? text.slice(0, -1) : text;
      if (isStrong(token as Tokens.Paragraph) || text.endsWith(':'))
        parts.push({
          title: title === above ? title : `${above}: ${lowerFirst(title)}`,
          entries: [],
        });
    }
    if (token.type === 'list')
      for (const item of (token as Tokens.List).items)
        parts.at(-1)?.entries.push(...entriesOf(item, known));
  }
  return parts.filter(({ entries }) => entries.length > 0);
}

/** All entries in the order of the menu, which is the order in which people read. */
export const inOrder = (parts: readonly Part[]): Entry[] =>
  parts.flatMap(({ entries }) => entries.flatMap((entry) => [entry, ...entry.below]));

/** The links of an item that lead to pages; where it begins with one, the others are below it. */
function entriesOf(item: Tokens.ListItem, known: Set<string>): Entry[] {
  const found: Entry[] = [];
  for (const { href, tokens } of linksIn(item.tokens)) {
    const path = targetOf(INDEX, href)?.path ?? '';
    if (!path.endsWith('.md') || known.has(path)) continue;
    known.add(path);
    const label = plainText(tokens);
    found.push({ path, label: label.charAt(0).toUpperCase() + label.slice(1), below: [] });
  }
  const [first, ...others] = found;
  if (first === undefined || !beginsWithLink(item)) return found;
  first.below.push(...others);
  return [first];
}

function beginsWithLink(item: Tokens.ListItem): boolean {
  let token: Token | undefined = item.tokens[0];
  while (token !== undefined && token.type !== 'link' && 'tokens' in token)
    token = token.tokens?.[0];
  return token?.type === 'link';
}

const isStrong = ({ tokens }: Tokens.Paragraph): boolean =>
  tokens.length === 1 && tokens[0]?.type === 'strong';

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
