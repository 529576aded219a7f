// Traffic and refusals, live: rows come and go, values change, and each search has its turn.

import { createHash } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import test from 'ava';
import type { LiveFlow, SeenRefusal } from '../../../../dataplane/index.ts';
import { compressEvents } from '../../../../lib/web/kit/compressed-events.ts';
import { type LiveCell, type LivePage, PageNews } from '../../../../lib/web/parts/live-list.ts';
import type { Names } from '../../../../lib/web/parts/live-rows.ts';
import {
  BUSIEST_SHOWN,
  busyRow,
  liveFlows,
  liveRefusals,
  refusedRow,
} from '../../../../lib/web/parts/live-traffic.ts';
import { showFlow } from '../../../../lib/observe/live/flows.ts';
import { showRefusal } from '../../../../lib/observe/live/refusals.ts';
import { firstKind, openDatabase } from '../../../support/database/databases.ts';
import { fakeLive, flowOf, refusalOf } from '../../../support/observe/fake-gateway.ts';

const NONE = { devices: new Map(), rules: new Map() };

/** Names as long as those of real gateways. */
function namesOf(ids: readonly string[]): Names {
  return {
    devices: new Map(
      ids.map((id, i) => [id, { name: `laptop of person ${i}`, owner: `ann.${i}@example.com` }]),
    ),
    rules: new Map(ids.map((id, i) => [id, `Accept TCP 443 · to 10.${i}.0.0/16 of engineering`])),
  };
}

function pageOf(query: Record<string, string>, rows: readonly string[] = []): LivePage {
  return { query, rows: new Map(rows.map((key) => [key, ''])), userId: 'u' };
}

test('a row has one key as long as it is the same flow, and a time once it rests', (t) => {
  const live = fakeLive('g');
  const rowOf = (fields: Partial<LiveFlow>, rate: number) =>
    busyRow({ ...showFlow(live, flowOf('key', fields)), rate }, NONE);
  const at = Date.UTC(2026, 10, 30, 9, 0, 3);
  const [one, later, idle] = [
    rowOf({ latestMs: at }, 1_000),
    rowOf({ latestMs: at + 5_000, sentBytes: 9_999 }, 2_000),
    rowOf({ latestMs: at }, 0),
  ];
  t.is(later.key, one.key);
  t.deepEqual(one.cells[3], { text: '1.0\u00a0kB/s', sort: 1_000 });
  const now = { text: 'now', time: null };
  t.deepEqual(one.cells[6], now);
  t.deepEqual(later.cells[6], now);
  t.is(Date.parse(String(idle.cells[6]?.['time'])), at);
  t.deepEqual(idle.cells[3], { text: '', sort: 0 });
  t.is(idle.cells[6]?.['text'], '', 'a page that shows “now” is sent that it goes');
  t.not(rowOf({ openedMs: at }, 0).key, one.key, 'another flow from the same ports');
  const refusal = (fields: Partial<SeenRefusal>) =>
    refusedRow(showRefusal(live, refusalOf('key', fields)), NONE);
  t.is(refusal({ count: 9, latestMs: at }).key, refusal({}).key);
  t.not(refusal({ port: 23 }).key, refusal({}).key);
  t.like(refusal({ latestMs: at }).cells[0], { sort: at });
});

/** A rate as a page shows it, from few characters. */
function textOfRate(short: string): string {
  return short.replace(/([\d.]+)(\D*)(\/s)/, '$1\u00a0$2B$3');
}

for (const [replaced, every] of [
  [0, 1],
  [3, 1],
  [10, 1],
  [30, 1],
  [30, 2],
  [30, 3],
] as const)
  test(`a busy list stays full and right within two seconds, and takes less than a thousand bytes: ${replaced} flows of 30 are others every ${every} s`, async (t) => {
    const ids = Array.from({ length: 60 }, (_, i) => `01900000-0000-7000-8000-0000000000${i + 10}`);
    const names = namesOf(ids);
    const live = fakeLive('g', { deviceIdOf: (key) => ids[Number(key) % ids.length] ?? null });
    const flowAt = (flow: number, second: number) => {
      // No two flows have an address, a port or an amount in common, as far as bytes can differ.
      const some = createHash('sha256').update(`${flow}`).digest();
      const part = (first: number, bytes: number): number => some.readUIntBE(first, bytes);
      const counts = part(0, 4) + part(4, 2) * second;
      const fields = { by: 'rule', rule: ids[flow % ids.length] ?? '' } as const;
      const ends = {
        source: `10.0.${part(6, 1)}.${part(7, 1)}`,
        sourcePort: part(8, 2),
        destination: some.subarray(10, 14).join('.'),
        destinationPort: part(14, 2),
        openedMs: flow * 1_000 + (part(16, 2) % 1_000),
      };
      const sent = { sentBytes: counts, sentPackets: part(18, 3), replyBytes: 3 * counts };
      const all = { ...fields, ...ends, ...sent, replyPackets: part(21, 3) + second };
      const shown = showFlow(live, flowOf(`${part(24, 1)}`, all));
      const rate = 1_000_000 + 100_000 * ((flow * 7_919 + second) % 97);
      return busyRow({ ...shown, rate }, names);
    };
    const listAt = (second: number) => {
      const flows = Array.from({ length: BUSIEST_SHOWN }, (_, i) => flowAt(i, second));
      const others = flows.map((_, i) => flowAt(i + BUSIEST_SHOWN * second, second));
      const list = flows.map((row, i) => (i < replaced ? (others[i] ?? row) : row));
      return new Map(list.map(({ key, cells }) => [key, cells]));
    };
    const stateAt = (second: number) => listAt(second - (second % every));
    const first = stateAt(0);
    const page = pageOf({}, [...first.keys()]);
    const news = new PageNews(page, { ranked: new Set([3, 4, 5, 6]) });
    const shown = new Map([...first].map(([key, cells], i) => [i, { key, cells: [...cells] }]));
    const lists = [first];
    let most = 0;
    let plain = 0;
    const events = new PassThrough();
    const compressed = compressEvents(events);
    for (let second = 1; second <= 60; second += 1) {
      lists.push(stateAt(second));
      const text = news.next({ rows: lists.at(-1) ?? first }) ?? '{}';
      if (text !== '{}') events.write(`event: rows\ndata: ${text}\n\n`);
      // A page that does not say what it holds is sent all of it once.
      if (second > 1) most = Math.max(most, Buffer.byteLength(text));
      plain += Buffer.byteLength(text);
      const event = JSON.parse(text);
      for (const [number, key, cells] of event.rows ?? [])
        shown.set(number, { key, cells: cells.with(3, { text: textOfRate(cells[3]) }) });
      for (const [number, column, parts] of event.cells ?? []) {
        const cells = shown.get(number)?.cells ?? [];
        cells[column] = { ...cells[column], ...parts };
      }
      for (const line of event.figures?.split(';') ?? []) {
        const [number, rate] = line.split(',');
        const cells = shown.get(Number(number))?.cells ?? [];
        if (rate !== '') cells[3] = { text: textOfRate(rate) };
      }
      for (const number of event.gone ?? []) shown.delete(number);
      t.is(shown.size, BUSIEST_SHOWN, `rows after ${second} s`);
      const ageOf = ({ key, cells }: { key: string; cells: LiveCell[] }): number =>
        lists.toReversed().findIndex((list) => list.get(key)?.[3]?.['text'] === cells[3]?.['text']);
      for (const row of shown.values()) t.true([0, 1, 2].includes(ageOf(row)), `${second} s`);
    }
    events.end();
    const bytes = Math.round((await buffer(compressed)).length / 60);
    t.log(`${bytes} bytes a second, ${Math.round(plain / 60)} before; ${most} at most`);
    t.true(bytes < 1_000);
    t.true(most < (replaced === 0 ? 1_000 : 10_000));
  });

for (const kind of firstKind())
  test(`${kind}: pages that look for the same are read once, others in turns`, async (t) => {
    const database = await openDatabase(t, kind);
    const asked: (string | null)[] = [];
    let flows: LiveFlow[] = [flowOf('key', { rate: 7 })];
    const gateway = fakeLive('g', {
      busiest: async ({ rule }) => {
        asked.push(rule);
        return flows;
      },
    });
    const list = liveFlows(database, () => gateway);
    const rule = '01900000-0000-7000-8000-00000000dead';
    const pages = [pageOf({}), pageOf({ rule_id: rule }), pageOf({ rows: 'x', rule_id: rule })];
    const news = new Map(pages.map((page) => [page, new PageNews(page, list)]));
    const readAt = async (nowMs: number) => {
      const read = await list.read(pages, nowMs);
      return pages.map((page) => {
        const rows = read.get(page);
        return rows === undefined ? undefined : (news.get(page)?.next(rows) ?? null);
      });
    };
    const [none, first, second] = await readAt(0);
    t.regex(String(first), /^\{"rows":\[\[0,"[\w-]{8}",\[/);
    t.is(first, second);
    t.is(none, undefined);
    const [third, nothing] = await readAt(59_000);
    t.is(nothing, undefined);
    t.is(third, first);
    flows = [];
    await readAt(118_000);
    const [gone] = await readAt(177_000);
    t.is(gone, '{"gone":[0]}');
    t.deepEqual(asked, [rule, null, rule, null]);
  });

for (const kind of firstKind())
  test(`${kind}: what devices sent by themselves is not among the refusals, unless its reason is asked for`, async (t) => {
    const database = await openDatabase(t, kind);
    const reason = 'inner_destination_reserved';
    const gateway = fakeLive('g', {
      refusals: async () => [
        refusalOf('key', { reason, destination: 'ff02::16' }),
        refusalOf('key', { destination: '10.0.0.6' }),
      ],
    });
    const sizes = [];
    for (const query of [{}, { reason }]) {
      const page = pageOf(query as Record<string, string>);
      const read = await liveRefusals(database, () => gateway).read([page], 0);
      sizes.push(read.get(page)?.rows.size);
    }
    t.deepEqual(sizes, [1, 2]);
  });
