// The site: static pages of the documentation, which work in any folder of a web server and from a
// disk. They load nothing of other hosts. The same sources make the same bytes.

import { readFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { build } from 'esbuild';
import { Eta } from 'eta';
import type { Token, Tokens } from 'marked';
import { PUBLISHER } from '../publisher.ts';
import { type Entry, inOrder, menuOf, type Part } from './menu.ts';
import {
  addressOf,
  HOME,
  INDEX,
  type Page,
  plainText,
  readPages,
  readText,
  relativeTo,
} from './pages.ts';
import { escape, render, type Rendered, type Surroundings } from './render.ts';
import { searchScript } from './search.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const LOOK = 'lib/web/static/postern.css';
const SUMMARY_CHARACTERS = 160;

/** The files of the site by their addresses. */
export type Site = ReadonlyMap<string, string | Uint8Array>;

/** Makes all files. */
export async function makeSite(): Promise<Site> {
  const site = new Map<string, string | Uint8Array>();
  const pages = readPages();
  const index = pages.get(INDEX);
  if (index === undefined) throw new Error(`${INDEX} is missing`);
  const menu = menuOf(index);
  const surroundings: Surroundings = {
    isPage: (path) => pages.has(path),
    sourceOf: (path) => (PUBLISHER.sources === null ? null : `${PUBLISHER.sources}/${path}`),
  };
  const eta = new Eta({ views: import.meta.dirname, autoEscape: true, autoTrim: [false, 'nl'] });
  for (const page of pages.values()) {
    const rendered = render(page, surroundings);
    site.set(addressOf(page.path), eta.render('page', contextOf(page, rendered, menu)));
    for (const path of rendered.pictures) site.set(path, readFileSync(join(ROOT, path)));
  }
  site.set('assets/icon.svg', readText('lib/web/static/icon.svg'));
  site.set('assets/site.css', coloursOf(readText(LOOK)) + readText('tools/site/site.css'));
  site.set('assets/site.js', await script());
  site.set('assets/search-index.js', searchScript(pages.values()));
  site.set('assets/LICENSE-of-minisearch', licence());
  return site;
}

/** What the template of a page is given. */
function contextOf(page: Page, { html, headings }: Rendered, menu: readonly Part[]): object {
  const from = addressOf(page.path);
  const to = (address: string): string => relativeTo(from, address);
  const order = inOrder(menu);
  const at = order.findIndex(({ path }) => path === page.path);
  const link = (entry: Entry | undefined): object | null =>
    entry === undefined ? null : { label: entry.label, href: to(addressOf(entry.path)) };
  return {
    title: page.title,
    isHome: page.path === HOME,
    summary: summaryOf(page.tokens),
    html,
    to,
    root: posix.relative(posix.dirname(from), '.'),
    version: versionOf(),
    menu,
    entry: (path: string, label: string): string => {
      const current = path === page.path ? ' aria-current="page"' : '';
      return `<a href="${escape(to(addressOf(path)))}"${current}>${escape(label)}</a>`;
    },
    contents: headings.filter(({ depth }) => depth === 2 || depth === 3),
    before: at > 0 ? link(order[at - 1]) : null,
    after: link(at < 0 ? undefined : order[at + 1]),
  };
}

/** The first paragraph, in so many characters as search engines show. */
function summaryOf(tokens: readonly Token[]): string {
  const first = tokens.find((token): token is Tokens.Paragraph => token.type === 'paragraph');
  const text = plainText(first?.tokens ?? []).replaceAll(/\s+/g, ' ');
  if (text.length <= SUMMARY_CHARACTERS) return text;
  return `${text.slice(0, text.lastIndexOf(' ', SUMMARY_CHARACTERS))} …`;
}

/** The colours of the console, light and dark. */
function coloursOf(sheet: string): string {
  const found = /^:root \{[^}]*\}\n\n@media \(prefers-color-scheme: dark\) \{\n[^]*?^\}\n/m.exec(
    sheet,
  );
  if (found === null) throw new Error(`${LOOK} does not begin with its colours`);
  return `${found[0]}\n`;
}

async function script(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'site.js')],
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    banner: { js: '/* With MiniSearch: LICENSE-of-minisearch */' },
    write: false,
  });
  return outputFiles[0]?.text ?? '';
}

/** That of the package whose script is in ours. */
const licence = (): string => readText('node_modules/minisearch/LICENSE.txt');

function versionOf(): string {
  return (JSON.parse(readText('package.json')) as { version: string }).version;
}
