// The comparison of commands finds every kind of change, and the list of differences that are meant
// lets pass what it names, but neither an exit code nor a key of JSON.

import test from 'ava';
import { lineDifferences, type Part } from './compare-lines.ts';
import { expected, readMeant } from './meant-differences.ts';
import { Bindings } from './placeholders.ts';
import { readScene, type RecordedEnd, writeScene, wordsOf } from './scene.ts';
import type { Result } from './scene-world.ts';

const ID = '0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee';
const OTHER = '0199aaaa-bbbb-7ccc-8ddd-ffffffffffff';

const scene = readScene(`# Rules.
gateway: obeys

# The first one.
$ postern rule create --description 'a b'
< typed
=> 0
> {{rule:uuid}}
>
> end \\x1b[0m
! see {{rule}}
+ command_line: rule create {{rule}} {"action":{"to":"drop"}}

$ postern rule list --json
=> 0
> [
>   {
>     "id": "{{rule}}",
>     "port": null,
>     "names": [
>       "a"
>     ]
>   }
> ]
`);
const [made, listed] = scene.typed.map(({ end }) => end!) as [RecordedEnd, RecordedEnd];
const madeNow: Result = {
  status: 0,
  stdout: `${ID}\n\nend \u001b[0m\n`,
  stderr: `see ${ID}\n`,
  audit: [`command_line: rule create ${ID} {"action":{"to":"drop"}}`],
};
const rule = { id: ID, port: null, names: ['a'] };
const listedNow: Result = {
  status: 0,
  stdout: `${JSON.stringify([rule])}\n`,
  stderr: '',
  audit: [],
};

function parts(end: RecordedEnd, now: Result, line = 'postern rule list --json'): Part[] {
  const bindings = new Bindings();
  if (end === listed) bindings.bind('rule', ID, 'uuid');
  return lineDifferences(line, end, now, bindings).map(({ part }) => part);
}

const jsonOf = (...rows: object[]): Result => ({
  ...listedNow,
  stdout: `${JSON.stringify(rows)}\n`,
});

test('a scene is read and written, with control characters and what is typed', (t) => {
  t.is(readScene(writeScene(scene)).typed[0]?.stdin, 'typed\n');
  t.deepEqual(readScene(writeScene(scene)), scene);
  t.is(made.stdout, '{{rule:uuid}}\n\nend \u001b[0m\n');
  const [first] = scene.typed;
  t.deepEqual(wordsOf(`${first?.line} ''`), [
    'postern',
    'rule',
    'create',
    '--description',
    'a b',
    '',
  ]);
  t.throws(() => readScene('# a\n\n$ postern\n=> 0\noutput'), { message: /has no mark/ });
});

test('what came as it was recorded is the same', (t) => {
  t.deepEqual(parts(made, madeNow), []);
  t.deepEqual(parts(listed, listedNow), []);
});

const changes: [says: string, end: RecordedEnd, now: Result, found: Part[]][] = [
  ['an exit code', made, { ...madeNow, status: 1 }, ['status']],
  ['a text', made, { ...madeNow, stdout: madeNow.stdout.replace('end', 'End') }, ['stdout']],
  ['a colour', made, { ...madeNow, stdout: madeNow.stdout.replace('[0m', '[1m') }, ['stdout']],
  ['a line that is missing', made, { ...madeNow, stdout: `${ID}\n` }, ['stdout']],
  ['a line that came', made, { ...madeNow, stdout: `${madeNow.stdout}x\n` }, ['stdout']],
  ['no line break at the end', made, { ...madeNow, stderr: madeNow.stderr.trim() }, ['stderr']],
  ['an error', made, { ...madeNow, stderr: '' }, ['stderr']],
  ['another id', made, { ...madeNow, stderr: `see ${OTHER}\n` }, ['stderr']],
  ['an audit entry that is missing', made, { ...madeNow, audit: [] }, ['audit']],
  ['one that came', made, { ...madeNow, audit: [...madeNow.audit, 'x'] }, ['audit']],
  [
    'one of another actor',
    made,
    { ...madeNow, audit: madeNow.audit.map((entry) => entry.replace('command_line', 'user')) },
    ['audit'],
  ],
  ['a value of JSON', listed, jsonOf({ ...rule, port: 80 }), ['stdout']],
  ['a list of JSON', listed, jsonOf({ ...rule, names: [] }), ['stdout']],
  ['a row that came', listed, jsonOf(rule, rule), ['stdout']],
  ['a key that came', listed, jsonOf({ ...rule, more: 1 }), ['keys', 'stdout']],
  ['a key that is missing', listed, jsonOf({ id: ID, port: null }), ['keys', 'stdout']],
  ['the order of keys', listed, jsonOf({ port: null, id: ID, names: ['a'] }), ['keys', 'stdout']],
  [
    'whitespace of JSON',
    listed,
    { ...listedNow, stdout: `${JSON.stringify([rule], null, 1)}\n` },
    ['stdout'],
  ],
  ['no JSON', listed, { ...listedNow, stdout: 'none\n' }, ['keys']],
];
for (const [says, end, now, found] of changes)
  test(`found: ${says}`, (t) => t.deepEqual(parts(end, now), found));

test('names of settings and of tables may come, and none goes', (t) => {
  const end = { ...listed, stdout: '{"counts":{"a":1},"key":"x"}' };
  const now = (value: object): Result => ({
    ...listedNow,
    stdout: `${JSON.stringify(value)}\n`,
  });
  t.deepEqual(parts(end, now({ counts: { a: 1, b: 2 }, key: 'x' })), []);
  t.deepEqual(parts(end, now({ counts: { b: 2 }, key: 'x' })), ['keys', 'stdout']);
  t.deepEqual(parts(end, now({ counts: { a: 1 }, key: 'x', b: 1 })), ['keys', 'stdout']);
  const settings = { ...listed, stdout: '{"A":"1"}' };
  const line = 'postern check-config --json';
  t.deepEqual(parts(settings, now({ A: '1', B: '2' }), line), []);
});

const [first, second] = scene.typed as [(typeof scene.typed)[number], (typeof scene.typed)[number]];

test('a difference passes with the item that means it, in the part that it names', (t) => {
  const meant = readMeant(`# The list.

scene: rule
item: #41, 3
${'$'} ${first.line}
! look at {{rule}}
`);
  const { end, meant: one } = expected(first, [], meant);
  t.is(one, meant[0]!);
  t.deepEqual(parts(end!, { ...madeNow, stderr: `look at ${ID}\n` }), []);
  t.deepEqual(parts(end!, madeNow), ['stderr']);
  t.deepEqual(parts(end!, { ...madeNow, stderr: `look at ${ID}\n`, status: 2 }), ['status']);
  t.is(expected(first, [first], meant).meant, null, 'it is of the first such line');
  t.is(expected(second, [], meant).end, listed);
});

test('the list means neither exit codes nor keys, and nothing without an item', (t) => {
  const listOf = (...lines: string[]): string =>
    ['scene: rule', 'item: #41', `$ ${second.line}`, ...lines].join('\n');
  const refused: [list: string, message: RegExp][] = [
    [listOf('=> 1'), /nothing else may differ/],
    [listOf(), /nothing differs/],
    [listOf('! x').replace('item: #41\n', ''), /"item: " is missing/],
    [listOf('! x').replace('item', 'because'), /"item: " is missing/],
    [listOf('> [{"id": "{{rule}}", "port": null}]'), /has the keys id, port, not/],
    [listOf('> nothing'), /must stay JSON/],
    [listOf('!'), /it is as it was recorded/],
  ];
  for (const [list, message] of refused)
    t.throws(() => expected(second, [], readMeant(list)), { message }, list);
});

test('only a line that was wrong usage may succeed now', (t) => {
  const meant = readMeant(`scene: rule\nitem: #45\n$ ${first.line}\n=> 0\n!`);
  const ends = (status: number) => {
    const typed = { ...first, end: { status, stdout: '', stderr: 'wrong\n', audit: [] } };
    return expected(typed, [], meant).end;
  };
  t.like(ends(2), { status: 0, stderr: '' });
  t.throws(() => ends(1), { message: /only a line that was refused as wrong usage/ });
});
