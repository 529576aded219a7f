// The menu as it comes of a list of pages.

import test from 'ava';
import { marked } from 'marked';
import { inOrder, menuOf } from '../../../tools/site/menu.ts';

const INDEX = `# Documentation

**Start**

- [Start](start.md): first steps.

**Guides**

Run it:

- [Alone](alone.md), or [with others](others.md); and [alone again](alone.md#again)
- The rooms: [one](../one/README.md), [two](../two/README.md)

**Inside**

- [Start](start.md) once more
- Text without a link, and a [file](../a.ts)
`;

test('parts have entries, and further links of an entry are below it', (t) => {
  const tokens = marked.lexer(INDEX);
  const menu = menuOf({ path: 'docs/README.md', title: 'Documentation', tokens });
  t.deepEqual(menu, [
    { title: 'Start', entries: [{ path: 'docs/start.md', label: 'Start', below: [] }] },
    {
      title: 'Guides: run it',
      entries: [
        {
          path: 'docs/alone.md',
          label: 'Alone',
          below: [{ path: 'docs/others.md', label: 'With others', below: [] }],
        },
        { path: 'one/README.md', label: 'One', below: [] },
        { path: 'two/README.md', label: 'Two', below: [] },
      ],
    },
  ]);
  t.deepEqual(
    inOrder(menu).map(({ label }) => label),
    ['Start', 'Alone', 'With others', 'One', 'Two'],
  );
});
