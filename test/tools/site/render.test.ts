// Markdown as the site shows it, in small examples.

import test from 'ava';
import { marked } from 'marked';
import { headingsOf, render } from '../../../tools/site/render.ts';

/** Renders the text of a page of guides; above them there is another page. */
function html(text: string, sources: string | null = null): string {
  const page = { path: 'docs/guides/a.md', title: 'A', tokens: marked.lexer(text) };
  return render(page, {
    isPage: (path) => ['docs/guides/a.md', 'docs/b.md', 'README.md'].includes(path),
    sourceOf: (path) => (sources === null ? null : `${sources}/${path}`),
  }).html;
}

test('links lead to pages of the site', (t) => {
  t.is(html('[b](../b.md#part)'), '<p><a href="../b.html#part">b</a></p>\n');
  t.is(html('[home](../../README.md)'), '<p><a href="../../index.html">home</a></p>\n');
  t.is(html('[here](#part)'), '<p><a href="#part">here</a></p>\n');
  t.is(html('[self](a.md)'), '<p><a href="a.html">self</a></p>\n');
  t.is(
    html('[there](https://there.example/?a=1&b="2")'),
    '<p><a href="https://there.example/?a=1&amp;b=&quot;2&quot;">there</a></p>\n',
  );
});

test('a source is a link as soon as somebody publishes it', (t) => {
  const text = '[`a.ts`](../../lib/a.ts)';
  t.is(html(text), '<p><span title="lib/a.ts"><code>a.ts</code></span></p>\n');
  t.is(
    html(text, 'https://there.example/blob/main'),
    '<p><a href="https://there.example/blob/main/lib/a.ts"><code>a.ts</code></a></p>\n',
  );
});

test('text is never markup', (t) => {
  t.is(
    html('`<script>` & <https://a.example>').replaceAll('<wbr>', ''),
    '<p><code>&lt;script&gt;</code> &amp; <a href="https://a.example">https://a.example</a></p>\n',
  );
  t.true(html('```sh\necho "<b>"\n```').includes('<code>echo &quot;&lt;b&gt;&quot;</code>'));
  t.throws(() => html('a <b>bold</b> word'), { message: /^docs\/guides\/a\.md has HTML, .*<b>/ });
  t.throws(() => html('<div>\n</div>'), { message: /has HTML/ });
  t.is(html('<!-- prettier-ignore -->\n'), '');
});

test('a column without a name has no heading', (t) => {
  t.regex(html('| a | |\n|---|---|\n| b | c |\n'), /<th>a<\/th>\n<td><\/td>/);
});

test('a picture is one of the repository', (t) => {
  t.is(
    html('![A "picture"](../pictures/a.png)'),
    '<p><img src="../pictures/a.png" alt="A &quot;picture&quot;" loading="lazy"></p>\n',
  );
  t.throws(() => html('![x](https://there.example/a.png)'), { message: /is not ours/ });
});

test('headings have the anchors that GitHub gives them', (t) => {
  const text = '# A `code` & more\n\n## Part\n\n## Part\n\n## What it *is*, [too](b.md)?\n';
  t.deepEqual(
    headingsOf(marked.lexer(text)).map(({ id }) => id),
    ['a-code--more', 'part', 'part-1', 'what-it-is-too'],
  );
  t.regex(html(text), /<h2 id="part-1">Part<a class="anchor" href="#part-1" /);
});
