// Scripts that are joined to one: each keeps its own names, and finds what it imports.

import test from 'ava';
import { joinScripts } from '../../../../lib/web/kit/joined.ts';

test('a script has its own names, and what scripts before it export', async (t) => {
  const text = joinScripts([
    "const WORD = 'one';\nexport function first() {\n  return WORD;\n}\nexport async function later() {\n  return 3;\n}\n",
    "import { first, later } from './first.js';\nconst WORD = 'two';\nexport function both() {\n  return [first(), WORD, later()];\n}\n",
    'const WORD = 3;\nfunction first() {\n  return WORD;\n}\nglobalThis.joinedTest = first();\n',
  ]);
  const module = (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as Record<
    string,
    () => unknown[]
  >;
  t.deepEqual(Object.keys(module), ['both', 'first', 'later']);
  const [one, two, three] = module['both']?.() ?? [];
  t.deepEqual([one, two, await three], ['one', 'two', 3]);
  t.is(Reflect.get(globalThis, 'joinedTest'), 3);
  Reflect.deleteProperty(globalThis, 'joinedTest');
});
