// The site as its readers get it: every link leads somewhere, nothing is loaded of other hosts, every
// page is in the menu and is found, and the same sources make the same bytes.

import { execFileSync } from 'node:child_process';
import { posix, resolve } from 'node:path';
import test from 'ava';
import MiniSearch, { type AsPlainObject } from 'minisearch';
import { INDEXED, type Section } from '../../../tools/site/search.ts';
import { makeSite } from '../../../tools/site/site.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const site = await makeSite();
const pages = new Map(
  [...site].flatMap(([address, content]) =>
    address.endsWith('.html') && typeof content === 'string' ? [[address, content] as const] : [],
  ),
);
const idsOf = new Map(
  [...pages].map(([address, html]) => [address, new Set(valuesOf(html, 'id'))] as const),
);

/** The values of an attribute in a page. */
function valuesOf(html: string, name: string): string[] {
  return [...html.matchAll(new RegExp(`\\s${name}="([^"]*)"`, 'g'))].map(([, value = '']) => value);
}

/** What is wrong with an address, seen from a page; null: nothing. */
function errorOf(from: string, href: string): string | null {
  const at = href.includes('#') ? href.indexOf('#') : href.length;
  const [name, anchor] = [href.slice(0, at), decodeURIComponent(href.slice(at + 1))];
  const address = name === '' ? from : posix.join(posix.dirname(from), name);
  if (!site.has(address)) return `${from}: there is no ${address}`;
  if (anchor === '' || idsOf.get(address)?.has(anchor) === true) return null;
  return `${from}: ${address} has no ${anchor}`;
}

test('every link leads to a page of the site, to a heading in it, or to the web', (t) => {
  t.true(pages.size > 60, `${pages.size} pages`);
  const links = [...pages].flatMap(([from, html]) =>
    valuesOf(html, 'href').map((href) => [from, href] as const),
  );
  t.true(links.length > 3_000, `${links.length} links`);
  const inside = links.filter(([, href]) => !/^(https?|mailto):/.test(href));
  t.deepEqual(
    inside.flatMap(([from, href]) => errorOf(from, href) ?? []),
    [],
  );
  t.is(errorOf('index.html', 'nowhere.html'), 'index.html: there is no nowhere.html');
  t.is(errorOf('index.html', '#nowhere'), 'index.html: index.html has no nowhere');
});

test('nothing is loaded of other hosts, and no page holds a script or a style', (t) => {
  for (const [from, html] of pages) {
    const sheets = [...html.matchAll(/<link [^>]*href="([^"]*)"/g)].map(([, href = '']) => href);
    for (const source of [...valuesOf(html, 'src'), ...sheets]) {
      t.notRegex(source, /^([a-z]+:|\/)/, from);
      t.is(errorOf(from, source), null);
    }
    t.false(/<style|\sstyle=|\son[a-z]+="|<script(?![^>]* src=)/.test(html), from);
    t.true(html.includes(`content="default-src 'none'; img-src 'self'; `), from);
    t.is(new Set(valuesOf(html, 'id')).size, valuesOf(html, 'id').length, `${from}: an id twice`);
  }
  t.false(/url\(|@import/.test(String(site.get('assets/site.css'))));
  t.false(/https?:|XMLHttpRequest|import\(/.test(String(site.get('assets/site.js'))));
});

test('every page of docs is in the menu, once', (t) => {
  const tracked = execFileSync('git', ['ls-files', 'docs'], { cwd: ROOT, encoding: 'utf8' });
  const expected = tracked
    .trim()
    .split('\n')
    .filter((path) => path.endsWith('.md') && path !== 'docs/README.md')
    .map((path) => path.replace(/\.md$/, '.html'));
  t.true(expected.length > 30);
  const [, menu = ''] = /<nav id="menu"([^]*?)<\/nav>/.exec(pages.get('index.html') ?? '') ?? [];
  const entries = valuesOf(menu, 'href');
  t.is(new Set(entries).size, entries.length);
  t.deepEqual(
    expected.filter((address) => !entries.includes(address)),
    [],
  );
});

test('the pages are read one after the other', (t) => {
  const order: string[] = [];
  const next = (html: string): string | undefined => /rel="next" href="([^"]*)"/.exec(html)?.[1];
  for (let at: string | undefined = 'docs/start.html'; at !== undefined;) {
    t.false(order.includes(at), at);
    order.push(at);
    const href = next(pages.get(at) ?? '');
    at = href === undefined ? undefined : posix.join(posix.dirname(at), href);
  }
  t.true(order.length > 35, order.join(' '));
  t.true(order.includes('docs/guides/single-sign-on/okta.html'));
});

test('a search finds the section, and every find leads to a heading', (t) => {
  const script = String(site.get('assets/search-index.js'));
  const text = script.replace(/^self\.searchIndex = /, '').replace(/;\n$/, '');
  const index = MiniSearch.loadJS<Section>(JSON.parse(text) as AsPlainObject, INDEXED);
  const boost = { heading: 4, page: 3 };
  const best = (query: string): string =>
    String(index.search(query, { combineWith: 'AND', prefix: true, boost })[0]?.['address']);
  t.is(best('WIREGUARD_UAPI'), 'docs/reference/settings.html#:~:text=WIREGUARD_UAPI');
  t.regex(best('keycloak realm'), /^docs\/guides\/single-sign-on\/keycloak\.html/);
  t.regex(best('postern backup'), /backup/);
  t.deepEqual(index.search('nosuchwordanywhere'), []);
  const all = index
    .search(MiniSearch.wildcard)
    .map(({ address }) => String(address).replace(/:~:.*/, ''));
  t.true(all.length > 500, `${all.length} sections`);
  t.deepEqual(
    all.flatMap((address) => errorOf('index.html', address) ?? []),
    [],
  );
});

test('the same sources make the same bytes', async (t) => {
  const again = await makeSite();
  t.deepEqual([...again.keys()], [...site.keys()]);
  for (const [address, content] of again)
    t.true(Buffer.from(content).equals(Buffer.from(site.get(address)!)), address);
});
