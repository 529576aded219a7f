// Lists at a terminal: they fit its width, and what a person types again is never cut.

import test from 'ava';
import stringWidth from 'string-width';
import { below, listed, screenOf, timeInWords } from '../../../lib/cli/screen.ts';
import type { Screen } from '../../../lib/cli/text-table.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');
const COLUMNS = [
  ['id', 'id'],
  ['owner', 'text'],
  ['name', 'text'],
  ['addresses', 'fixed'],
  ['state', 'state'],
  ['latest handshake', 'time'],
] as const;
const ROWS = [
  [
    '01900000-0000-7000-8000-00001a2b3c4d',
    'a.very.long.address.of.somebody@departments.example.com',
    'the laptop of somebody with a long name',
    '100.64.0.2,fd00::3:2:2',
    'on',
    '2026-11-30T11:57:00.000Z',
  ],
  [
    '01900000-0000-7000-8000-00001a2b3c4e',
    'b@c.example',
    '漢字漢字',
    '100.64.0.3',
    'off',
    'never seen',
  ],
];

function screen(width: number, isColoured = false): Screen {
  return { width, isColoured, widthOf: stringWidth, nowMs: NOW };
}

const list = listed(COLUMNS, ROWS);
const shown = (width: number, isColoured = false): string[] =>
  (list.onScreen?.(screen(width, isColoured)) ?? '').split('\n');

test('a pipe gets every value whole', (t) => {
  for (const cell of ROWS.flat()) t.true(list.text.includes(cell), cell);
  t.true(list.text.split('\n').every((line) => !line.includes('…')));
});

test('a wide terminal shows all, with times as people say them', (t) => {
  const [head = '', first = '', second = ''] = shown(200);
  t.true(head.endsWith('LATEST HANDSHAKE'));
  for (const cell of ROWS[0]?.slice(0, 5) ?? []) t.true(first.includes(cell), cell);
  t.true(first.endsWith('3 min ago'), first);
  t.true(second.endsWith('never seen'));
});

for (const width of [80, 100, 132])
  test(`at ${width} columns texts are cut, ids become short ones, addresses stay`, (t) => {
    const lines = shown(width);
    for (const line of lines) t.true(stringWidth(line) <= width, `${stringWidth(line)}: ${line}`);
    const [head = '', first = '', second = ''] = lines;
    t.regex(first, /^1a2b3c4d {2}a\.very.*… .*100\.64\.0\.2,fd00::3:2:2 {2}on .*3 min ago$/);
    t.regex(second, /^1a2b3c4e {2}b@c\.example .*漢字漢字 /);
    // Letters of two columns leave the columns behind them in their place.
    const place = (line: string, text: string): number =>
      stringWidth(line.slice(0, line.indexOf(text)));
    t.is(place(second, '100.64.0.3'), place(head, 'ADDRESSES'));
    t.is(place(first, '100.64.0.2'), place(head, 'ADDRESSES'));
  });

test('what has no room stays whole on further lines of its row', (t) => {
  for (const width of [20, 30, 40]) {
    const text = shown(width).join('\n');
    for (const whole of ['1a2b3c4d', '100.64.0.2,fd00::3:2:2', '3 min ago', '1a2b3c4e', 'off'])
      t.true(text.includes(whole), `${whole} of ${text}`);
  }
  const lines = shown(40);
  for (const line of lines) t.true(stringWidth(line) <= 40, line);
  t.deepEqual(lines.slice(0, 4), [
    'ID        OWNER           NAME',
    '  ADDRESSES               STATE',
    '  LATEST HANDSHAKE',
    '1a2b3c4d  a.very.long.a…  the laptop of…',
  ]);
  t.is(lines.length % 3, 0);
});

test('of a place the text is cut, and never the address or the id behind it', (t) => {
  const cells = [
    'the laptop of somebody with a name 100.64.0.2:50000',
    '[fd00::3:2:2]:443',
    'x 1.2.3.4',
  ];
  const rows = cells.map((cell) => [
    cell,
    'a rule drops what goes there (01900000-0000-7000-8000-00001a2b3c4d)',
  ]);
  const list = listed(
    [
      ['from', 'place'],
      ['why', 'place'],
    ],
    rows,
  );
  const [, first = '', second = '', third = ''] = (list.onScreen?.(screen(62)) ?? '').split('\n');
  for (const line of [first, second, third]) {
    t.true(stringWidth(line) <= 62, line);
    t.regex(line, /a rule .*…? \(1a2b3c4d\)$/);
  }
  t.regex(first, /^the lap.*… 100\.64\.0\.2:50000 {2}/);
  t.true(second.startsWith('[fd00::3:2:2]:443 '));
  t.true(third.startsWith('x 1.2.3.4 '));
});

test('an id that is in many rows is one, and bytes have units', (t) => {
  const id = '01900000-0000-7000-8000-00001a2b3c4d';
  const rows = [
    [`rule ${id}`, '12 (1800 B)', '999'],
    [`rule ${id}`, '1 (0 B)', '1234567'],
  ];
  const list = listed(
    [
      ['decided by', 'id'],
      ['sent', 'bytes'],
      ['all', 'bytes'],
    ],
    rows,
  );
  const lines = (list.onScreen?.(screen(40)) ?? '').split('\n');
  t.deepEqual(lines, [
    'DECIDED BY     SENT         ALL',
    'rule 1a2b3c4d  12 (1.8 kB)  999 B',
    'rule 1a2b3c4d  1 (0 B)      1.2 MB',
  ]);
  t.true(list.text.includes('1234567') && list.text.includes(`rule ${id}  12 (1800 B)`));
});

test('sentences and lists are below each other, for a pipe and for a terminal', (t) => {
  const list = listed([['name', 'text']], [['x'.repeat(30)]]);
  const { text, onScreen } = below('a\u001b[2J', '', list);
  t.is(text, `a\u001b[2J\n\nNAME\n${'x'.repeat(30)}`);
  t.is(onScreen?.(screen(10)), `a [2J\n\nNAME\n${'x'.repeat(9)}…`);
});

test('ids stay whole where two of them end alike', (t) => {
  const ends = ['01900000-0000-7000-8000-00001a2b3c4d', '01900000-0000-7000-9000-00001a2b3c4d'];
  const rows = ends.map((id) => [id, 'x'.repeat(80)]);
  const text =
    listed(
      [
        ['id', 'id'],
        ['name', 'text'],
      ],
      rows,
    ).onScreen?.(screen(60)) ?? '';
  for (const id of ends) t.true(text.includes(id), text);
});

test('colours are for a terminal that has them, and nothing of a cell steers it', (t) => {
  t.false(shown(200).join('').includes('\u001b'));
  const [head = '', first = '', second = ''] = shown(200, true);
  t.true(head.startsWith('\u001b[1mID'));
  t.true(first.includes('\u001b[32mon '), first);
  t.true(second.includes('\u001b[31moff'), second);
  const bad = listed([['name', 'text']], [['a\u001b[2Jb\nc']]).onScreen?.(screen(80)) ?? '';
  t.is(bad, 'NAME\na [2Jb c');
});

test('times from near now are said from now, others as days', (t) => {
  for (const [time, words] of [
    ['2026-11-30T11:59:58.123Z', '2 s ago'],
    ['2026-11-30T10:00:00Z', '2 h ago'],
    ['2026-12-05T12:00:00.000Z', 'in 5 d'],
    ['2020-01-02T03:04:05.678Z', '2020-01-02'],
    ['never seen', 'never seen'],
    ['', ''],
  ] as const)
    t.is(timeInWords(time, NOW), words, time);
});

test('only a terminal that says how wide it is is a screen', async (t) => {
  t.is(await screenOf({}), null);
  t.is(await screenOf({ isTTY: true }), null);
  t.is(await screenOf({ isTTY: false, columns: 80 }), null);
  t.like(await screenOf({ isTTY: true, columns: 80 }), { width: 80, isColoured: false });
  const coloured = { isTTY: true, columns: 80, hasColors: () => true };
  t.like(await screenOf(coloured), { width: 80, isColoured: true });
});
