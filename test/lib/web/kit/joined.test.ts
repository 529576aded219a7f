// Scripts that are joined to one: each keeps its own names, and finds what it imports.

import test from 'ava';
import { joinScripts } from '../../../../lib/web/kit/joined.ts';

test('a script has its own names, and what scripts before it export', async (t) => {
  const text = joinScripts([
    'export default class Whole {\n  word = 4;\n}\n',
    "const WORD = 'one';\nexport function first() {\n  return WORD;\n}\nexport async function later() {\n  return 3;\n}\n",
    "import Whole from './lib/whole.js';\nimport { first, later } from './first.js';\nconst WORD = 'two';\nexport function both() {\n  return [first(), WORD, later(), new Whole().word];\n}\n",
    'const WORD = 3;\nfunction first() {\n  return WORD;\n}\nglobalThis.joinedTest = first();\n',
  ]);
  const module = (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as Record<
    string,
    () => unknown[]
  >;
  t.deepEqual(Object.keys(module), ['Whole', 'both', 'first', 'later']);
  const [one, two, three, four] = module['both']?.() ?? [];
  t.deepEqual([one, two, await three, four], ['one', 'two', 3, 4]);
  t.is(Reflect.get(globalThis, 'joinedTest'), 3);
  Reflect.deleteProperty(globalThis, 'joinedTest');
});
