// The script of live lists, before a server that says what the test wants: rows that come and go
// while a person is in the list, and streams that fail.

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { findAssets } from '../../lib/web/kit/assets.ts';
import { type LiveCell, PageNews } from '../../lib/web/parts/live-list.ts';
import { openPages } from '../support/web/browser.ts';

const ASSETS = findAssets().files;
const RANKED = new Set([1]);

/** A list on a page, and what its streams are answered. */
class Lists {
  /** The answers to come; null: the stream begins. */
  readonly errors: (number | null)[] = [];
  readonly asked: string[] = [];
  readonly #first: readonly string[];
  #stream: ServerResponse | null = null;
  #news: PageNews | null = null;

  constructor(first: readonly string[]) {
    this.#first = first;
  }

  page(): string {
    const rows = this.#first.map(
      (key) =>
        `<tr data-row="${key}."><td>${key}</td><td data-sort="0"><span class="cell"></span></td></tr>`,
    );
    return `<!doctype html><html lang="en"><title>List</title><link rel="icon" href="data:,">
      <h1 style="margin-top: 40px">List</h1>
      <span data-bar><a data-changes hidden></a><button data-pause>Pause</button></span>
      <div data-none hidden></div>
      <table data-list="/list/live" data-base="" data-sorted="1">
      <thead><tr><th>Name</th><th>Rate</th></tr></thead><tbody>${rows.join('')}</tbody></table>
      <script type="module" src="/live-list.js"></script></html>`;
  }

  begin(url: URL, response: ServerResponse): void {
    this.asked.push(url.searchParams.get('rows') ?? '');
    const status = this.errors.shift() ?? null;
    if (status !== null) return void response.writeHead(status).end();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(':\n\n');
    const named = (this.asked.at(-1) ?? '').split(',').filter((name) => name !== '');
    const keys = named.map((name): [string, string] => [name.split('.')[0] ?? '', '']);
    this.#news = new PageNews({ rows: new Map(keys) }, { ranked: RANKED });
    this.#stream = response;
  }

  /** Sends what is new to the page, with the rate of each row. */
  show(rates: Readonly<Record<string, number>>): void {
    const rows = new Map(
      Object.entries(rates).map(([key, rate]): [string, LiveCell[]] => [
        key,
        [{ text: key }, { text: `${rate}\u00a0B/s`, sort: rate }],
      ]),
    );
    this.showRows(rows);
  }

  showRows(rows: ReadonlyMap<string, readonly LiveCell[]>): void {
    const data = this.#news?.next({ rows }) ?? null;
    if (data !== null) this.#stream?.write(`event: rows\ndata: ${data}\n\n`);
  }

  /** Says of which version the files of the console are. */
  greet(version: string): void {
    this.#stream?.write(`event: version\ndata: ${version}\n\n`);
  }

  end(): void {
    this.#stream?.write('event: end\ndata: {}\n\n');
  }

  /** As a gateway that stops. */
  break(): void {
    this.#stream?.end();
  }

  /** Waits for so many streams in all. */
  async until(streams: number): Promise<void> {
    for (let waits = 0; this.asked.length < streams; waits += 1) {
      if (waits > 400) throw new Error(`${this.asked.length} streams`);
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}

async function openList(t: ExecutionContext, first: readonly string[]) {
  const lists = new Lists(first);
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    if (url.pathname === '/list/live') return lists.begin(url, response);
    if (url.pathname === '/')
      return void response.writeHead(200, { 'content-type': 'text/html' }).end(lists.page());
    const script = ASSETS[basename(url.pathname)];
    if (script === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/javascript' }).end(script);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const page = await openPages(t, `http://127.0.0.1:${port}`);
  await page.goto('/');
  await lists.until(1);
  const texts = (): Promise<string[]> =>
    page.evaluate(`[...document.querySelectorAll('tbody tr')].map((row) =>
      [row.hidden ? 'hidden' : '', row.classList.contains('gone') ? 'gone' : '', row.textContent.trim()]
        .filter(Boolean).join(' ').replaceAll('\\u00a0', ' '))`);
  /** Waits until the rows are these. */
  const rowsAre = async (wanted: readonly string[]): Promise<void> => {
    const isSo = async () => JSON.stringify(await texts()) === JSON.stringify(wanted);
    for (let waits = 0; waits < 100 && !(await isSo()); waits += 1) await page.waitForTimeout(50);
    t.deepEqual(await texts(), wanted);
  };
  return { lists, page, rowsAre, rowCount: async () => (await texts()).length };
}

test('after a stream that broke, values reach their own rows, also where a row left and came back', async (t) => {
  const { lists, page, rowsAre } = await openList(t, ['a', 'b', 'c']);
  lists.show({ a: 3, b: 2, c: 1 });
  await rowsAre(['a3 B/s', 'b2 B/s', 'c1 B/s']);
  await page.locator('table').hover();
  lists.show({ b: 2, c: 1 });
  await rowsAre(['gone a3 B/s', 'b2 B/s', 'c1 B/s']);
  lists.show({ a: 4, b: 2, c: 1 });
  await rowsAre(['gone a3 B/s', 'b2 B/s', 'c1 B/s', 'hidden a4 B/s']);
  lists.break();
  await lists.until(2);
  t.is(lists.asked[1], 'b.,c.');
  lists.show({ a: 5, b: 6, c: 7 });
  await rowsAre(['gone a3 B/s', 'b6 B/s', 'c7 B/s', 'hidden a5 B/s']);
  await page.mouse.move(0, 0);
  await rowsAre(['c7 B/s', 'b6 B/s', 'a5 B/s']);
});

test('a row that came while the page was shown has one value in each cell', async (t) => {
  const { lists, rowsAre } = await openList(t, ['a']);
  lists.show({ a: 1, b: 2 });
  await rowsAre(['b2 B/s', 'a1 B/s']);
  lists.show({ a: 1, b: 3 });
  await rowsAre(['b3 B/s', 'a1 B/s']);
});

test('rows that come lead to a record that the stream named once, and say whose it is', async (t) => {
  const { lists, page, rowsAre } = await openList(t, []);
  const rowOf = (from: string, rate: number): LiveCell[] => [
    { text: 'laptop', href: '/devices/1', help: `ann@example.com · ${from}` },
    { text: `${rate}\u00a0kB/s`, sort: 1_000 * rate },
  ];
  const rows = new Map([['a', rowOf('10.0.0.1', 2)]]);
  lists.showRows(rows);
  await rowsAre(['laptopann@example.com · 10.0.0.12 kB/s']);
  lists.showRows(rows.set('b', rowOf('10.0.0.2', 1)));
  await rowsAre([
    'laptopann@example.com · 10.0.0.12 kB/s',
    'laptopann@example.com · 10.0.0.21 kB/s',
  ]);
  t.is(await page.locator('a[href="/devices/1"]').count(), 2);
});

test('a page does not grow while a pointer rests on its list', async (t) => {
  const { lists, page, rowsAre, rowCount } = await openList(t, ['a', 'b']);
  await page.locator('table').hover();
  for (let i = 0; i < 300; i += 1) lists.show({ [`x${i}`]: i, [`y${i}`]: i });
  lists.show({ last: 1, b: 2 });
  await rowsAre(['gone a', 'gone b', 'hidden last1 B/s', 'hidden b2 B/s']);
  t.is(await rowCount(), 4);
  await page.mouse.move(0, 0);
  await rowsAre(['b2 B/s', 'last1 B/s']);
});

test('a page names as many rows as the gateway follows', async (t) => {
  const { lists } = await openList(
    t,
    Array.from({ length: 250 }, (_, i) => `r${i}`),
  );
  t.is(lists.asked[0]?.split(',').length, 200);
});

test('a stream that is refused is asked for again, later each time, until it ends', async (t) => {
  const { lists, page, rowsAre } = await openList(t, ['a']);
  await page.clock.install();
  lists.errors.push(502, 503, 429);
  lists.break();
  const waits: number[] = [];
  for (let streams = 2; streams <= 5; streams += 1) {
    let seconds = 0;
    // Waits end between so many seconds and twice as many; the answer comes in real time.
    for (; lists.asked.length < streams && seconds < 200; seconds += 1) {
      await page.clock.runFor(1_000);
      await new Promise((done) => setTimeout(done, 20));
    }
    waits.push(seconds);
    await new Promise((done) => setTimeout(done, 300));
  }
  t.log(`asked again after ${waits.join(', ')} s`);
  for (const [i, least] of [3, 6, 12, 24].entries())
    t.true((waits[i] ?? 0) >= least - 1 && (waits[i] ?? 0) <= 2 * least + 2, `${waits[i]} s`);
  lists.show({ a: 9 });
  await rowsAre(['a9 B/s']);
  lists.end();
  await page.waitForTimeout(300);
  await page.clock.runFor(300_000);
  t.is(lists.asked.length, 5);
});

test('a page of an older version than the gateway that answers now offers the new page', async (t) => {
  const { lists, page, rowsAre } = await openList(t, ['a']);
  lists.show({ a: 1 });
  await rowsAre(['a1 B/s']);
  for (let times = 0; times < 2; times += 1) lists.greet('later');
  const offer = page.getByRole('link', { name: 'Postern was upgraded · Reload' });
  await offer.waitFor();
  t.is(await offer.count(), 1);
  await offer.click();
  await lists.until(2);
  t.is(await offer.count(), 0);
});
