// The templates: everything is escaped, and the partials show what they are given.

import test from 'ava';
import { say } from '../../../../lib/web/kit/texts.ts';
import { createViews } from '../../../../lib/web/kit/views.ts';

const BAD = `"><script>alert('1')</script>&`;
const ESCAPED = '&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;';

const frame = {
  title: 'T',
  flash: null,
  user: null,
  navigation: null,
  isSigningIn: false,
  logoUrl: null,
  csrfToken: 'token',
  requestId: 'id',
  plain: (text: string) => text,
  say,
  path: (local: string) => local,
  asset: (name: string) => name,
};

const render = createViews();

/** What a partial makes, without the layout around it. */
async function show(partial: string, values: object): Promise<string> {
  const html = await render(`partials/${partial}`, { ...frame, ...values });
  return html.slice(html.indexOf('<main'), html.indexOf('</main>'));
}

test('a field escapes every value that it is given', async (t) => {
  const text = { label: BAD, value: BAD, help: BAD, errors: [BAD], name: BAD, placeholder: BAD };
  for (const more of [
    {},
    { type: 'checkbox' },
    { choices: [[BAD, BAD]] },
    { rows: 3 },
    { locked: BAD, autocomplete: BAD },
  ]) {
    const html = await show('field', { ...text, ...more });
    t.true(html.includes(ESCAPED));
    t.false(html.includes('<script>'), JSON.stringify(more));
  }
});

test('a field ties its label, help and error to its input', async (t) => {
  const html = await show('field', { name: 'a', label: 'A', help: 'H', errors: ['F', 'G'] });
  t.regex(html, /<label for="field-a">A<\/label>/);
  t.regex(html, /id="field-a" name="a".* aria-describedby="field-a-help field-a-error"/);
  t.regex(html, /aria-invalid="true"/);
  t.regex(html, / autofocus /, 'in view without scripts too');
  t.regex(html, /id="field-a-error">F; G</);
  t.regex(await show('field', { name: 'a', label: 'A', locked: 'Why' }), / disabled/);
});

test('a text area keeps the line break with which its text begins', async (t) => {
  t.regex(
    await show('field', { name: 'a', label: 'A', rows: 2, value: '\nx' }),
    />\n\nx<\/textarea>/,
  );
});

test('a table escapes its cells, and names the column at each', async (t) => {
  const columns = [{ label: BAD }, { label: 'N', isNumber: true }];
  const rows = [
    [BAD, { text: BAD, href: `/x?${BAD}` }],
    [
      { text: BAD, badge: 'good' },
      { time: BAD, text: BAD, help: BAD },
    ],
    [null, 7],
  ];
  const html = await show('table', { caption: BAD, columns, rows });
  t.false(html.includes('<script>'));
  t.is(html.match(/<tr role="row">/g)?.length, 4);
  t.is(html.match(/data-label="/g)?.length, 6);
});

test('a table without rows says so', async (t) => {
  const empty = { title: BAD, text: 'None yet', href: '/new', label: 'Add one' };
  const html = await show('table', { caption: 'C', columns: [], rows: [], empty });
  t.false(html.includes('<table'));
  t.true(html.includes(ESCAPED));
  t.regex(html, /href="\/new">Add one</);
});

test('a question asks before it does, and carries the token', async (t) => {
  const html = await show('confirm', {
    id: 'q',
    button: BAD,
    title: BAD,
    text: BAD,
    action: '/do',
    label: BAD,
    values: { [BAD]: BAD },
  });
  t.false(html.includes('<script>'));
  t.regex(html, /<details class="confirm"/);
  t.regex(html, /name="csrf_token" value="token"/);
  t.false(html.includes('<details open'));
});

test('pager and finder escape what they carry', async (t) => {
  t.false((await show('pager', { previous: `/x?${BAD}`, next: BAD })).includes('<script>'));
  t.false((await show('pager', { previous: null, next: null })).includes('<nav'));
  const html = await show('finder', {
    action: '/x',
    label: BAD,
    finder: {
      text: BAD,
      state: BAD,
      states: [[BAD, BAD]],
      kept: { a: BAD },
      isFiltered: true,
      filters: [{ label: BAD, without: BAD }],
      summary: BAD,
      file: BAD,
    },
  });
  t.false(html.includes('<script>'));
});
