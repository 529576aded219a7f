// The index of the site's search: each section of each page, so that a find leads to its heading,
// and each row of a table that begins with a name. It is made here and loaded by the browser as it
// is.

import type { Token, Tokens } from 'marked';
import MiniSearch, { type Options } from 'minisearch';
import { addressOf, type Page, plainText } from './pages.ts';
import { headingsOf } from './render.ts';

/** What a search can find. */
export interface Section {
  readonly id: number;
  /** Its address from the root of the site. */
  readonly address: string;
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

/** How sections are indexed; the script of the site says the same. */
export const INDEXED: Options<Section> = {
  fields: ['heading', 'page', 'text'],
  storeFields: ['address', 'page', 'heading', 'text'],
};

/** The index as a script: a browser that reads the site from a disk loads scripts alone. */
export function searchScript(pages: Iterable<Page>): string {
  const index = new MiniSearch<Section>(INDEXED);
  const sections = [...pages].flatMap(sectionsOf);
  index.addAll(sections.map((section, id) => ({ ...section, id })));
  return `self.searchIndex = ${JSON.stringify(index.toJSON())};\n`;
}

/** The sections and the named rows of a page, with the text that is shown in each. */
export function sectionsOf({ path, title: page, tokens }: Page): Omit<Section, 'id'>[] {
  const base = addressOf(path);
  const headings = headingsOf(tokens);
  const found: { address: string; page: string; heading: string; text: string }[] = [];
  let section = found[0];
  for (const token of tokens) {
    if (token.type === 'heading') {
      const { id = '', text: heading = '', depth = 1 } = headings.shift() ?? {};
      section =
        depth === 1
          ? { address: base, page, heading: '', text: '' }
          : { address: `${base}#${id}`, page, heading, text: '' };
      found.push(section);
    } else if (section !== undefined) {
      const { address } = section;
      for (const { name, text } of namedRows(token))
        found.push({ address: toText(address, name), page, heading: name, text });
      section.text = `${section.text} ${textOf(token)}`.trim();
    }
  }
  return found.map((one) => ({ ...one, text: one.text.replaceAll(/\s+/g, ' ').trim() }));
}

/** The rows of a table that begin with code, as settings and metrics do. */
function namedRows(token: Token): { name: string; text: string }[] {
  if (token.type !== 'table') return [];
  return (token as Tokens.Table).rows.filter(isNamed).map(([first, ...others]) => ({
    name: plainText(first?.tokens ?? []),
    text: others.map(({ tokens }) => plainText(tokens)).join(' '),
  }));
}

const isNamed = ([first]: readonly Tokens.TableCell[]): boolean =>
  first?.tokens[0]?.type === 'codespan';

/** An address within which the browser goes to a text: a row has no heading. */
function toText(address: string, name: string): string {
  const [word = name] = name.split(', ');
  // A hyphen would separate what comes before and behind the text.
  const text = encodeURIComponent(word).replaceAll('-', '%2D');
  return `${address}${address.includes('#') ? '' : '#'}:~:text=${text}`;
}

function textOf(token: Token): string {
  switch (token.type) {
    case 'table': {
      const { header, rows } = token as Tokens.Table;
      return [header, ...rows.filter((row) => !isNamed(row))]
        .flatMap((row) => row.map(({ tokens }) => plainText(tokens)))
        .join(' ');
    }
    case 'list':
      return (token as Tokens.List).items
        .map((item) => item.tokens.map(textOf).join(' '))
        .join(' ');
    case 'blockquote':
      return (token as Tokens.Blockquote).tokens.map(textOf).join(' ');
    case 'html':
    case 'space':
      return '';
    default:
      return plainText([token]);
  }
}
