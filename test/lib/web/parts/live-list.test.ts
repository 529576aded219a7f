// What a page of a live list is sent: only what is new to it, within so many bytes, and how many
// rows would be elsewhere by now.

import test from 'ava';
import {
  changesOf,
  type LiveCell,
  type LivePage,
  type LiveRows,
  PageNews,
  rowName,
  Turns,
} from '../../../../lib/web/parts/live-list.ts';

type Event = {
  readonly cells?: [number, number, Record<string, unknown>][];
  readonly rows?: [number, string, LiveCell[]][];
  readonly gone?: number[];
  readonly changes?: number;
};

/** A page that was made with these rows, whose marks it names if it says so. */
function pageOf(rows: LiveRows['rows'], isMarked = true): Pick<LivePage, 'rows'> {
  const named = [...rows].map(([key, cells]) => rowName(key, cells).split('.'));
  return { rows: new Map(named.map(([key = '', mark = '']) => [key, isMarked ? mark : ''])) };
}

function eventOf(text: string | null): Event {
  return JSON.parse(text ?? '{}') as Event;
}

test('a page that is up to date is sent nothing, later what changed alone', (t) => {
  const rows = new Map<string, LiveCell[]>([
    ['a', [{ dot: 'good' }, null, { text: 'Online', help: 'x' }]],
    ['b', [{ dot: 'calm' }, null, { text: 'Offline', help: 'y' }]],
  ]);
  const news = new PageNews(pageOf(rows), {});
  t.is(news.next({ rows }), null);
  rows.set('b', [{ dot: 'good' }, null, { text: 'Online', help: 'y' }]);
  t.deepEqual(eventOf(news.next({ rows })), {
    cells: [
      [1, 0, { dot: 'good' }],
      [1, 2, { text: 'Online' }],
    ],
  });
  t.is(news.next({ rows }), null);
  rows.set('a', [{ dot: 'good' }, null, { time: 'now' }]);
  const parts = { text: null, help: null, time: 'now' };
  t.deepEqual(eventOf(news.next({ rows })).cells, [[0, 2, parts]], 'parts that went are null');
});

test('a page that does not say what it holds is sent all of it', (t) => {
  const rows = new Map<string, LiveCell[]>([['a', [{ text: 'x' }, null]]]);
  for (const page of [pageOf(rows, false), pageOf(new Map([['a', [{ text: 'y' }]]]))])
    t.deepEqual(eventOf(new PageNews(page, {}).next({ rows })), { cells: [[0, 0, { text: 'x' }]] });
});

test('however much changes, an event has less than a thousand bytes, and each row its turn', (t) => {
  const names = Array.from({ length: 50 }, (_, i) => `device ${i}`);
  const rowsAt = (at: number): Map<string, LiveCell[]> =>
    new Map(names.map((name) => [name, [{ text: `↓ ${at}.0 MB`, help: `↑ ${at} kB, 1 kB/s` }]]));
  const news = new PageNews(pageOf(rowsAt(0)), {});
  const turns = new Map<number, number>();
  for (let at = 1; at <= 12; at += 1) {
    const text = news.next({ rows: rowsAt(at) }) ?? '';
    t.true(Buffer.byteLength(`event: rows\ndata: ${text}\n\n`) < 1_000, `${text.length}`);
    for (const [row] of eventOf(text).cells ?? []) turns.set(row, (turns.get(row) ?? 0) + 1);
  }
  t.is(turns.size, 50);
  t.true(Math.max(...turns.values()) - Math.min(...turns.values()) <= 1);
});

test('a row that is larger than an event is sent alone', (t) => {
  const rows = new Map<string, LiveCell[]>([
    ['a', [{ text: 'x'.repeat(2_000) }, { text: 'y' }]],
    ['b', [{ text: 'z' }]],
  ]);
  const news = new PageNews(pageOf(rows, false), {});
  t.is(eventOf(news.next({ rows })).cells?.length, 1);
  t.is(eventOf(news.next({ rows })).cells?.length, 2);
});

test('a list of records gets no rows, and says how many would be elsewhere', (t) => {
  const rows = new Map<string, LiveCell[]>([
    ['a', [{ text: '1' }]],
    ['b', [{ text: '2' }]],
  ]);
  const news = new PageNews(pageOf(rows), {});
  t.is(news.next({ rows, order: ['a', 'b'] }), null);
  rows.set('c', [{ text: '3' }]);
  t.deepEqual(eventOf(news.next({ rows, order: ['c', 'a', 'b'] })), { changes: 1 });
  t.is(news.next({ rows }), null, 'who does not look it up knows nothing else');
  rows.delete('a');
  t.deepEqual(eventOf(news.next({ rows, order: ['c', 'b'] })), { gone: [0] });
  t.deepEqual(eventOf(news.next({ rows, order: ['b'] })), {});
  t.deepEqual(eventOf(news.next({ rows, order: ['a', 'b'] })), { changes: 0 });
});

test('a ranked list gets rows and loses them; of known rows only some columns are sent', (t) => {
  const list = { ranked: new Set([1]) };
  const rows = new Map<string, LiveCell[]>([['a', [{ text: 'from' }, { text: '1' }]]]);
  const news = new PageNews(pageOf(rows), list);
  rows.set('b', [{ text: 'other' }, { text: '2' }]);
  const row: [number, string, LiveCell[]] = [1, 'b', [{ text: 'other' }, { text: '2' }]];
  t.deepEqual(eventOf(news.next({ rows })), { rows: [row] });
  rows.set('a', [{ text: 'renamed' }, { text: '3' }]);
  t.deepEqual(eventOf(news.next({ rows })), { cells: [[0, 1, { text: '3' }]] });
  rows.delete('a');
  t.deepEqual(eventOf(news.next({ rows })), { gone: [0] });
  rows.set('a', [{ text: 'back' }, { text: '4' }]);
  t.is(eventOf(news.next({ rows })).rows?.[0]?.[0], 2, 'it comes back under a number of its own');
});

test('amounts of a ranked list are sent in few characters, where they read otherwise', (t) => {
  const rowsOf = (rate: number, text: string): Map<string, LiveCell[]> =>
    new Map([
      ['a', [null, { text, sort: rate }, { text: '30.8\u00a0kB', help: '94 packets' }]],
      ['b', [null, { text: '', sort: 0 }, { text: '7\u00a0B', help: '1 packet' }]],
    ]);
  const news = new PageNews(pageOf(rowsOf(0, ''), false), { ranked: new Set([1, 2]) });
  const first = { figures: '0,1.4M/s,30.8k 94;1,-,7 1' };
  t.deepEqual(eventOf(news.next({ rows: rowsOf(1_400_000, '1.4\u00a0MB/s') })), first);
  t.is(news.next({ rows: rowsOf(1_400_001, '1.4\u00a0MB/s') }), null);
  const next = news.next({ rows: rowsOf(900, '900\u00a0B/s') });
  t.deepEqual(eventOf(next), { figures: '0,900/s' });
});

test('a row of a ranked list goes with the row that comes in its place, or where the list is shorter', (t) => {
  const rowsOf = (from: number, count: number): Map<string, LiveCell[]> =>
    new Map(
      Array.from({ length: count }, (_, i) => [`${from + i}`, [{ text: 'x'.repeat(3_000) }]]),
    );
  const news = new PageNews(pageOf(rowsOf(0, 10)), { ranked: new Set() });
  let shown = 10;
  for (let seconds = 0; seconds < 5; seconds += 1) {
    const { rows = [], gone = [] } = eventOf(news.next({ rows: rowsOf(20, 10) }));
    shown += rows.length - gone.length;
    t.is(shown, 10, `after ${seconds} s`);
    t.is(rows.length, 2);
  }
  t.is(news.next({ rows: rowsOf(20, 10) }), null);
  t.is(eventOf(news.next({ rows: rowsOf(20, 4) })).gone?.length, 6);
});

test('rows that come name each record once, and searches where they are', (t) => {
  const link = { text: 'laptop', href: '/devices/1' };
  const search = { text: 'Explain', href: '/explain?port=1' };
  const rows = new Map<string, LiveCell[]>([
    ['a', [{ ...link, help: 'ann@x.com · 10.0.0.1:7' }, { text: 'x' }, search]],
    ['b', [{ ...link, help: 'ann@x.com · 10.0.0.2:8' }, null, search]],
  ]);
  const news = new PageNews(pageOf(new Map()), { ranked: new Set([0]) });
  t.deepEqual(JSON.parse(news.next({ rows }) ?? ''), {
    links: [[0, 'laptop', '/devices/1', 'ann@x.com']],
    rows: [
      [0, 'a', [{ link: 0, help: '10.0.0.1:7' }, { text: 'x' }, search]],
      [1, 'b', [{ link: 0, help: '10.0.0.2:8' }, null, search]],
    ],
  });
  t.is(news.next({ rows }), null);
  rows.set('c', [{ ...link, help: 'ann@x.com · 10.0.0.3' }]);
  const third = { rows: [[2, 'c', [{ link: 0, help: '10.0.0.3' }]]] };
  t.deepEqual(JSON.parse(news.next({ rows }) ?? ''), third);
  rows.set('d', [{ ...link, help: 'bob@x.com · 10.0.0.4' }]);
  t.like(JSON.parse(news.next({ rows }) ?? ''), {
    links: [[1, 'laptop', '/devices/1', 'bob@x.com']],
  });
});

test('a page knows so many links, and is sent again what it forgot', (t) => {
  const rowOf = (i: number): [string, LiveCell[]] => [`${i}`, [{ text: `${i}`, href: `/d/${i}` }]];
  const news = new PageNews(pageOf(new Map()), { ranked: new Set([0]) });
  /** The links as a page keeps them, and to what a row leads there. */
  const links = new Map<number, string>();
  const leads = (i: number): string | undefined => {
    const event = JSON.parse(news.next({ rows: new Map([rowOf(i)]) }) ?? '');
    for (const [number, , href] of event.links ?? []) links.set(number, href);
    return links.get(event.rows[0][2][0].link);
  };
  for (const i of [...Array.from({ length: 600 }, (_, n) => n % 300), 0, 299])
    t.is(leads(i), `/d/${i}`);
  t.is(links.size, 250);
});

test('a row that comes has short amounts, and after many rows a second passes', (t) => {
  const amount = (i: number): LiveCell => ({ text: `${i}\u00a0kB`, help: `${i} packets` });
  const rowsOf = (count: number, plus = 0): Map<string, LiveCell[]> =>
    new Map(Array.from({ length: count }, (_, i) => [`${i}`, [{ text: 'x' }, amount(i + plus)]]));
  const news = new PageNews(pageOf(new Map()), { ranked: new Set([1]) });
  t.deepEqual(JSON.parse(news.next({ rows: rowsOf(2) }) ?? ''), {
    rows: [
      [0, '0', [{ text: 'x' }, '0k 0']],
      [1, '1', [{ text: 'x' }, '1k 1']],
    ],
  });
  t.is(eventOf(news.next({ rows: rowsOf(12) })).rows?.length, 10);
  t.regex(String(news.next({ rows: rowsOf(12, 9) })), /"figures"/);
  t.is(eventOf(news.next({ rows: rowsOf(50) })).rows?.length, 38);
  t.is(news.next({ rows: rowsOf(50, 9) }), null);
  t.regex(String(news.next({ rows: rowsOf(50, 9) })), /"figures"/);
});

test('what changed is what is outside of the longest run that keeps its order', (t) => {
  const shown = ['a', 'b', 'c', 'd'];
  for (const [order, changes] of [
    [['a', 'b', 'c', 'd'], 0],
    [['x', 'a', 'b', 'c'], 1],
    [['b', 'c', 'd', 'e'], 1],
    [['d', 'a', 'b', 'c'], 1],
    [['d', 'c', 'b', 'a'], 3],
    [['w', 'x', 'y', 'z'], 4],
    [[], 4],
  ] as const)
    t.is(changesOf(shown, order), changes, order.join(''));
});

test('different pages have their turns, for a part of the time', async (t) => {
  const turns = new Turns();
  const asked: string[] = [];
  const read = async (key: string): Promise<string[]> => {
    asked.push(key);
    const begun = performance.now();
    while (performance.now() - begun < 20);
    return [key];
  };
  const next = (nowMs: number) => turns.next(['q=b', 'q=a', 'q=b'], nowMs, read);
  t.deepEqual(await next(0), { key: 'q=a', found: ['q=a'] });
  t.is(await next(300), null, 'it took 20 ms');
  t.deepEqual(await next(30_000), { key: 'q=b', found: ['q=b'] });
  t.deepEqual(await next(59_000), { key: 'q=a', found: ['q=a'] });
  t.truthy(await next(-1e9), 'the clock was set back');
  t.deepEqual(asked, ['q=a', 'q=b', 'q=a', 'q=b']);
  t.is(await new Turns().next([], 0, read), null);
});
