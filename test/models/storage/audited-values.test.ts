// What the audit trail keeps of values: members of lists, parts of long texts, and never more than a
// bound.

import test from 'ava';
import {
  boundChange,
  changeOfValue,
  UNPRIVILEGED_LIST_CHARACTERS_MAX,
  UNPRIVILEGED_TEXT_CHARACTERS_MAX,
  VALUE_CHARACTERS_MAX,
} from '../../../models/storage/audited-values.ts';

const changes: [string, unknown, unknown, object][] = [
  ['a value', 1, 2, { from: 1, to: 2 }],
  ['a list where none was', null, ['a'], { from: null, to: ['a'] }],
  ['a member more', ['a'], ['a', 'b'], { added: ['b'], removed: [] }],
  ['a member less', ['a', 'b'], ['b'], { added: [], removed: ['a'] }],
  ['all others', ['a'], ['b', 'c'], { added: ['b', 'c'], removed: ['a'] }],
  ['one of two equal ones', ['a', 'a'], ['a'], { added: [], removed: ['a'] }],
  ['another order', ['a', 'b'], ['b', 'a'], { from: ['a', 'b'], to: ['b', 'a'] }],
  ['objects', [{ id: 1 }, { id: 2 }], [{ id: 2 }], { added: [], removed: [{ id: 1 }] }],
];

for (const [says, from, to, wanted] of changes)
  test(`what is kept of ${says}`, (t) => {
    t.deepEqual(changeOfValue(from, to), wanted as never);
  });

test('a text of an administrator is kept whole, another one to a length', (t) => {
  const longest = 'x'.repeat(UNPRIVILEGED_TEXT_CHARACTERS_MAX);
  const change = { from: longest, to: `${longest}y` };
  t.deepEqual(boundChange(change, false), change);
  const { from, to } = boundChange(change, true) as { from: string; to: string };
  t.is(from, longest);
  t.regex(to, new RegExp(`^${longest}… \\(257 characters, SHA-256 [0-9a-f]{64}\\)$`));
  const other = boundChange({ to: `${longest}z` }, true) as { to: string };
  t.not(other.to, to, 'texts that differ behind the part have other entries');
});

test('a text is cut where a character of two units ends', (t) => {
  const text = `${'x'.repeat(UNPRIVILEGED_TEXT_CHARACTERS_MAX - 1)}${'😀'.repeat(9)}`;
  const { to } = boundChange({ to: text }, true) as { to: string };
  t.true(to.isWellFormed());
});

test('a list is kept up to a length, which is less for whoever is no administrator', (t) => {
  const list = (characters: number): string[] => ['x'.repeat(characters - '[""]'.length)];
  for (const [isUnprivileged, max] of [
    [false, VALUE_CHARACTERS_MAX],
    [true, UNPRIVILEGED_LIST_CHARACTERS_MAX],
  ] as const) {
    const kept = { added: list(max), removed: [] };
    t.deepEqual(boundChange(kept, isUnprivileged), kept);
    t.deepEqual(boundChange({ added: [], removed: list(max + 1) }, isUnprivileged), {
      added: [],
      removed: `(${max + 1} characters of JSON)`,
    });
  }
});

test('of a secret nothing is kept', (t) => {
  t.deepEqual(boundChange({ changed: true }, true), { changed: true });
});
