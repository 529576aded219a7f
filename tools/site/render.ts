// Markdown as HTML of the site: headings with the anchors of GitHub, links between pages, code that
// can be copied, and tables that move alone where they are wider than the window.

import { Parser, Renderer, type Token, type Tokens } from 'marked';
import { addressOf, type Page, plainText, relativeTo, targetOf } from './pages.ts';

/** A heading of a page. */
export interface Heading {
  readonly depth: number;
  readonly text: string;
  readonly id: string;
}

/** What a page becomes. */
export interface Rendered {
  readonly html: string;
  readonly headings: readonly Heading[];
  /** Pictures that it shows, by their paths in the repository. */
  readonly pictures: readonly string[];
}

/** What links need to know. */
export interface Surroundings {
  readonly isPage: (path: string) => boolean;
  /** Where readers find a file that is no page; null as long as nobody publishes the sources. */
  readonly sourceOf: (path: string) => string | null;
}

/** Renders a page. */
export function render(page: Page, surroundings: Surroundings): Rendered {
  const headings = headingsOf(page.tokens);
  const renderer = new PageRenderer(page, headings, surroundings);
  const html = Parser.parse([...page.tokens], { renderer });
  return { html, headings, pictures: renderer.pictures };
}

/** The headings of a page, with the anchors that GitHub gives them. */
export function headingsOf(tokens: readonly Token[]): Heading[] {
  const used = new Map<string, number>();
  return tokens
    .filter((token): token is Tokens.Heading => token.type === 'heading')
    .map(({ depth, tokens: inner }) => {
      const text = plainText(inner);
      const name = text
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-');
      const count = used.get(name) ?? 0;
      used.set(name, count + 1);
      return { depth, text, id: count === 0 ? name : `${name}-${count}` };
    });
}

/** Text as HTML shows it. */
export function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

class PageRenderer extends Renderer {
  readonly pictures: string[] = [];
  readonly #page: Page;
  readonly #address: string;
  readonly #headings: Heading[];
  readonly #surroundings: Surroundings;

  constructor(page: Page, headings: readonly Heading[], surroundings: Surroundings) {
    super();
    this.#page = page;
    this.#address = addressOf(page.path);
    this.#headings = [...headings];
    this.#surroundings = surroundings;
  }

  override heading({ tokens, depth }: Tokens.Heading): string {
    const { id = '', text = '' } = this.#headings.shift() ?? {};
    const label = `Link to “${escape(text)}”`;
    const anchor = `<a class="anchor" href="#${id}" aria-label="${label}">#</a>`;
    const inner = this.parser.parseInline(tokens);
    return `<h${depth} id="${id}">${inner}${depth > 1 ? anchor : ''}</h${depth}>\n`;
  }

  override link({ href, tokens }: Tokens.Link): string {
    const text = this.parser.parseInline(tokens);
    const target = targetOf(this.#page.path, href);
    if (target === null) return `<a href="${escape(href)}">${text}</a>`;
    const { path, anchor } = target;
    if (path === this.#page.path && anchor !== '') return `<a href="${anchor}">${text}</a>`;
    const { isPage, sourceOf } = this.#surroundings;
    const address = isPage(path) ? relativeTo(this.#address, addressOf(path)) : sourceOf(path);
    if (address === null) return `<span title="${escape(path)}">${text}</span>`;
    return `<a href="${escape(address + anchor)}">${text}</a>`;
  }

  override image({ href, text }: Tokens.Image): string {
    const target = targetOf(this.#page.path, href);
    if (target === null) throw new Error(`${this.#page.path} shows ${href}, which is not ours`);
    this.pictures.push(target.path);
    const source = relativeTo(this.#address, target.path);
    return `<img src="${escape(source)}" alt="${escape(text)}" loading="lazy">`;
  }

  override code({ text }: Tokens.Code): string {
    return `<div class="code"><pre tabindex="0"><code>${escape(text)}</code></pre></div>\n`;
  }

  /** A long name may be broken behind its parts. */
  override codespan({ text }: Tokens.Codespan): string {
    return `<code>${escape(text).replaceAll(/[_/](?=\w)/g, '$&<wbr>')}</code>`;
  }

  override table(token: Tokens.Table): string {
    return `<div class="table" tabindex="0">${super.table(token)}</div>\n`;
  }

  /** A column without a name has no heading. */
  override tablecell(cell: Tokens.TableCell): string {
    return super.tablecell(cell.text === '' ? { ...cell, header: false } : cell);
  }

  override html({ text }: Tokens.HTML | Tokens.Tag): string {
    // What an editor or a test reads there.
    if (/^<!--[^]*-->\s*$/.test(text)) return '';
    throw new Error(`${this.#page.path} has HTML, which the site does not take: ${text}`);
  }
}
