// Lists that pages show live. A list is read once for all pages that show it; each page is sent the
// cells that are other than those it has, within so many bytes a second. Lists of records keep
// their rows under the reader: the page says how many rows would be elsewhere, or others, by now.

import { createHash } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import { isUuid } from '../../kit/validation/fields.ts';
import { queryText } from '../kit/searched.ts';

/** What a page of records is sent a second at most, unless one row alone is larger. */
const EVENT_BYTES = 850;
/**
 * What an event of a ranked list has at most, before it is compressed: a row that comes has 150 to
 * 450 bytes. Amounts take what a page of records does, those of rows that come among them.
 */
const RANKED_EVENT_BYTES = 10_000;
const ROW_AMOUNTS_BYTES = 30;
/** The part of them that rows which come may take. */
const COMING_SHARE = 3 / 4;
/** After an event with more rows than these a second passes: the list is right within two. */
const ROWS_MANY = 10;
/** What differs from page to page is read for this part of the time at most. */
const READ_SHARE = 1 / 20;
const WAIT_MAX_MS = 60_000;
const MARK_CHARACTERS = 4;
/** Links that a page knows: more than one event can name. */
const LINKS_MAX = 250;

/** A part of a row that changes, as views show it; null: this cell does not change. */
export type LiveCell = Readonly<Record<string, string | number | boolean | null>> | null;

/** A page that shows a list. */
export interface LivePage {
  /** What its address asks for, so that the same rows can be found again. */
  readonly query: Request['query'];
  /** The rows that it shows, by key, with the mark of what they hold; '' is not known. */
  readonly rows: ReadonlyMap<string, string>;
  /** Who looks at it. */
  readonly userId: string;
}

/** What a page could show now. */
export interface LiveRows {
  /** Cells by key of the row; a row that is not there any more is left out. */
  readonly rows: ReadonlyMap<string, readonly LiveCell[]>;
  /** The keys of the rows that its address finds now, in order; left out: not looked up now. */
  readonly order?: readonly string[];
}

/** A list that pages show live. */
export interface LiveList {
  /** Whether only administrators may see it. */
  readonly isForAdministrators: boolean;
  /** Fails where it cannot be read at all, before a stream begins. */
  readonly check?: () => void;
  /** Columns that change. Left out: it lists records, and gets no other rows while it is shown. */
  readonly ranked?: ReadonlySet<number>;
  /** Reads it for all pages together. */
  readonly read: (
    pages: readonly LivePage[],
    nowMs: number,
  ) => Promise<ReadonlyMap<LivePage, LiveRows>>;
}

/** For views: where the live values of a list come from, and what each of its rows is called. */
export interface LiveView {
  readonly path: string;
  /** The address of the page. */
  readonly here: string;
  readonly rows: readonly string[];
}

/** For views: a list at a path, whose address asks for this. */
export function liveView(
  path: string,
  query: Iterable<readonly [string, string]>,
  rows: readonly string[],
): LiveView {
  const texts = [...query].map(([name, value]): [string, string] => [name, value]);
  const asked = new URLSearchParams(texts).toString();
  const suffix = asked === '' ? '' : `?${asked}`;
  return { path: `${path}/live${suffix}`, here: `${path}${suffix}`, rows };
}

/**
 * The row of a page: its key, and a mark of the cells that it was made with. The key is left out
 * where the menu of the row has it.
 */
export function rowName(key: string, cells: readonly LiveCell[]): string {
  return `${key}.${markOf(cells)}`;
}

function markOf(cells: readonly LiveCell[]): string {
  const hash = createHash('sha256').update(JSON.stringify(cells));
  return hash.digest('base64url').slice(0, MARK_CHARACTERS);
}

/** The news of one page. */
export class PageNews {
  readonly #ranked: LiveList['ranked'];
  readonly #numbers = new Map<string, number>();
  readonly #marks: Map<string, string>;
  /** By key: the cells that the page has. */
  readonly #sent = new Map<string, LiveCell[]>();
  readonly #links = new Links();
  #shown: readonly string[];
  #last = 0;
  #turn = 0;
  #figureTurn = 0;
  #changes = 0;
  /** Whether nothing is sent the next time. */
  #rests = false;

  constructor({ rows }: Pick<LivePage, 'rows'>, { ranked }: Pick<LiveList, 'ranked'>) {
    this.#ranked = ranked;
    this.#marks = new Map(rows);
    this.#shown = [...rows.keys()];
    for (const key of this.#shown) this.#numbers.set(key, this.#last++);
  }

  /**
   * What the page is sent, as JSON: rows by the number of their place among those that it named,
   * after them in the order in which they came. Null: nothing is new.
   */
  next({ rows, order }: LiveRows): string | null {
    const event: Record<string, unknown> = {};
    const isRanked = this.#ranked !== undefined;
    if (this.#rests) {
      this.#rests = false;
      return null;
    }
    const room = { left: isRanked ? RANKED_EVENT_BYTES : EVENT_BYTES, isFresh: true };
    const further = isRanked ? this.#further(rows, room) : [];
    const links = this.#links.take();
    if (links.length > 0) event['links'] = links;
    if (further.length > 0) event['rows'] = further;
    this.#rests =
      further.length > ROWS_MANY && [...rows.keys()].every((key) => this.#numbers.has(key));
    // A row of a ranked list goes with the row that comes in its place, so the list stays full.
    const gone = this.#goneAmong(rows, isRanked ? this.#numbers.size - rows.size : Infinity);
    if (gone.length > 0) event['gone'] = gone;
    room.left -= 4 * gone.length;
    const figures = isRanked
      ? this.#figures(rows, EVENT_BYTES - ROW_AMOUNTS_BYTES * further.length)
      : '';
    if (figures !== '') event['figures'] = figures;
    const cells = this.#cells(rows, room);
    if (cells.length > 0) event['cells'] = cells;
    const changes = order === undefined ? this.#changes : changesOf(this.#shown, order);
    if (changes !== this.#changes) event['changes'] = this.#changes = changes;
    return Object.keys(event).length === 0 ? null : JSON.stringify(event);
  }

  #goneAmong(rows: LiveRows['rows'], most: number): number[] {
    const gone: number[] = [];
    for (const [key, number] of this.#numbers)
      if (!rows.has(key) && gone.length < most) {
        gone.push(number);
        this.#numbers.delete(key);
        this.#sent.delete(key);
        this.#marks.delete(key);
      }
    return gone;
  }

  /** Rows that the page has not yet, as far as their share of the room lets them in. */
  #further(rows: LiveRows['rows'], room: Room): unknown[] {
    const further: unknown[] = [];
    const share = { ...room, left: room.left * COMING_SHARE };
    for (const [key, cells] of rows) {
      if (this.#numbers.has(key)) continue;
      const before = this.#links.found.length;
      const shorts = cells.map((cell) => shortAmount(cell) ?? this.#links.short(cell));
      const row = [this.#last, key, shorts];
      // Where there is no room for the row, its links go before it.
      if (!takes(share, [row, this.#links.found.slice(before)])) break;
      this.#numbers.set(key, this.#last++);
      this.#sent.set(key, [...cells]);
      further.push(row);
    }
    room.left -= room.left * COMING_SHARE - share.left;
    room.isFresh = share.isFresh;
    return further;
  }

  /** Cells that are other than those that the page has; who has waited for room comes first. */
  #cells(rows: LiveRows['rows'], room: Room): unknown[] {
    const known = [...this.#numbers];
    const first = this.#turn % Math.max(1, known.length);
    const found: unknown[] = [];
    for (const [i, [key, number]] of [...known.slice(first), ...known.slice(0, first)].entries())
      for (const { column, cell, change } of this.#newsOf(key, rows.get(key) ?? [])) {
        const one = [number, column, change];
        if (!takes(room, one)) {
          this.#turn = first + i;
          return found;
        }
        const sent = this.#sent.get(key) ?? [];
        sent[column] = cell;
        this.#sent.set(key, sent);
        found.push(one);
      }
    return found;
  }

  /**
   * Amounts that read otherwise than those that the page has, from the first column that changes
   * on: `12,1.4M/s,,30.8k 94;13,…`. Who has waited for room comes first.
   */
  #figures(rows: LiveRows['rows'], most: number): string {
    const column = Math.min(...(this.#ranked ?? []));
    const known = [...this.#numbers];
    const first = this.#figureTurn % Math.max(1, known.length);
    const lines: string[] = [];
    let left = most;
    for (const [i, [key, number]] of [...known.slice(first), ...known.slice(0, first)].entries()) {
      const cells = rows.get(key) ?? [];
      const sent = this.#sentOf(key, cells);
      const news = cells.slice(column).map((cell, place) => {
        const short = shortAmount(cell);
        return short === shortAmount(sent[column + place] ?? null) ? '' : (short ?? '');
      });
      const line = [number, ...news].join(',').replace(/,+$/, '');
      if (!line.includes(',')) continue;
      left -= line.length + 1;
      if (left < 0) {
        this.#figureTurn = first + i;
        break;
      }
      for (const [place, short] of news.entries())
        if (short !== '') sent[column + place] = cells[column + place] ?? null;
      this.#sent.set(key, sent);
      lines.push(line);
    }
    return lines.join(';');
  }

  /** The cells that the page has; what it was made with it has. */
  #sentOf(key: string, cells: readonly LiveCell[]): LiveCell[] {
    const mark = this.#marks.get(key);
    this.#marks.delete(key);
    if (mark !== undefined && mark === markOf(cells)) this.#sent.set(key, [...cells]);
    return this.#sent.get(key) ?? [];
  }

  #newsOf(key: string, cells: readonly LiveCell[]): News[] {
    const sent = this.#sentOf(key, cells);
    return cells.flatMap((cell, column) => {
      if (cell === null || this.#ranked?.has(column) === false) return [];
      if (this.#ranked !== undefined && shortAmount(cell) !== null) return [];
      const change = changeOf(sent[column] ?? null, cell);
      return change === null ? [] : [{ column, cell, change }];
    });
  }
}

/** An amount of bytes as a page shows it, in few characters: `1.4M/s`, `30.8k 94`; null: none. */
export function shortAmount(cell: LiveCell): string | null {
  const { text, help = '', sort, ...others } = cell ?? {};
  if (typeof text !== 'string' || Object.keys(others).length > 0) return null;
  // What passes nothing is sorted, and shows nothing.
  if (text === '') return sort === 0 && help === '' ? '-' : null;
  const amount = /^([\d.]+)\u00a0([kMGTP]?)B(\/s)?$/.exec(text);
  const packets = /^(?:(\d+) packets?)?$/.exec(String(help));
  if (amount === null || packets === null) return null;
  const [, count = '', unit = '', each = ''] = amount;
  return [`${count}${unit}${each}`, packets[1]].filter(Boolean).join(' ');
}

/** A record to which rows lead: its number at the page, its name, its path, and whose it is. */
type Link = readonly [number: number, text: string, href: string, owner: string];

/** The links that a page knows: each record is named once, however many rows lead to it. */
class Links {
  /** What the page does not know yet. */
  found: Link[] = [];
  /** Numbers by what was named, the first one in front. */
  readonly #known = new Map<string, number>();
  #named = 0;

  /** What the page does not know yet; from now on it does. */
  take(): readonly Link[] {
    const { found } = this;
    this.found = [];
    return found;
  }

  /** A cell with the number of its link in place of the link. */
  short(cell: LiveCell): LiveCell {
    const { text, href, help, ...others } = cell ?? {};
    // A search leads from one row alone.
    if (typeof text !== 'string' || typeof href !== 'string' || href.includes('?')) return cell;
    const [, owner = '', rest = ''] = /^(?:(.*?) · )?(.*)$/s.exec(String(help ?? '')) ?? [];
    const about = [text, href, owner] as const;
    const name = JSON.stringify(about);
    const link = this.#known.get(name) ?? this.#add(name, about);
    return { link, ...(rest === '' ? {} : { help: rest }), ...others };
  }

  #add(name: string, about: readonly [text: string, href: string, owner: string]): number {
    const number = this.#named++ % LINKS_MAX;
    const [oldest] = this.#known.keys();
    if (this.#known.size === LINKS_MAX && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(name, number);
    this.found.push([number, ...about]);
    return number;
  }
}

interface News {
  readonly column: number;
  readonly cell: LiveCell;
  readonly change: object;
}

/** What fits into an event; the first thing always does. */
interface Room {
  left: number;
  isFresh: boolean;
}

function takes(room: Room, one: unknown): boolean {
  const size = Buffer.byteLength(JSON.stringify(one)) + 1;
  if (size > room.left && !room.isFresh) return false;
  room.left -= size;
  room.isFresh = false;
  return true;
}

/** The parts of a cell that differ; null: none do. */
function changeOf(before: LiveCell, cell: NonNullable<LiveCell>): object | null {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(cell)]);
  const changed = [...names].filter((name) => before?.[name] !== cell[name]);
  if (changed.length === 0) return null;
  return Object.fromEntries(changed.map((name) => [name, cell[name] ?? null]));
}

/** How many rows would be elsewhere, or others: all but the longest run that keeps its order. */
export function changesOf(shown: readonly string[], order: readonly string[]): number {
  const places = new Map(shown.map((key, place) => [key, place]));
  /** By length: the least place that ends a rising run of that length. */
  const ends: number[] = [];
  for (const key of order) {
    const place = places.get(key);
    if (place === undefined) continue;
    const at = ends.findIndex((end) => end > place);
    ends[at === -1 ? ends.length : at] = place;
  }
  return Math.max(shown.length, order.length) - ends.length;
}

/**
 * Reads for the pages of one address at a time, so that pages which ask for different things cost
 * no more than pages which ask for the same.
 */
export class Turns {
  #lastKey = '';
  #fromMs = 0;

  /** What is read for one of these keys, and for which; null: it is too early. */
  async next<Found>(
    keys: Iterable<string>,
    nowMs: number,
    read: (key: string) => Promise<Found>,
  ): Promise<{ readonly key: string; readonly found: Found } | null> {
    // A clock that is set back must not end it.
    const waitsMs = this.#fromMs - nowMs;
    if (waitsMs > 0 && waitsMs < WAIT_MAX_MS) return null;
    const all = [...new Set(keys)].toSorted();
    const key = all.find((one) => one > this.#lastKey) ?? all[0];
    if (key === undefined) return null;
    this.#lastKey = key;
    const begun = performance.now();
    const found = await read(key);
    this.#fromMs = nowMs + (performance.now() - begun) / READ_SHARE;
    return { key, found };
  }
}

/** What a list of records reads. */
export interface RecordsRead {
  /** The cells of those records that are there, by id. */
  readonly cellsOf: (
    ids: readonly string[],
    nowMs: number,
  ) => Promise<ReadonlyMap<string, readonly LiveCell[]>>;
  /** The ids that an address finds. */
  readonly idsAt: (request: Pick<Request, 'query'>) => Promise<readonly string[]>;
}

/** A list of records, for administrators. */
export function recordList({ cellsOf, idsAt }: RecordsRead): LiveList {
  const turns = new Turns();
  return {
    isForAdministrators: true,
    read: async (pages, nowMs) => {
      const ids = new Set(pages.flatMap((page) => [...page.rows.keys()]));
      const rows = await cellsOf([...ids].filter(isUuid), nowMs);
      const keys = new Map(pages.map((page) => [page, addressKey(page)]));
      const found = await turns.next(keys.values(), nowMs, (key) =>
        idsAt({ query: Object.fromEntries(new URLSearchParams(key)) }),
      );
      return new Map(
        pages.map((page) => {
          const isFound = found !== null && found.key === keys.get(page);
          return [page, { rows, ...(isFound ? { order: found.found } : {}) }];
        }),
      );
    },
  };
}

/** What the address of a page asks for, as one text. */
export function addressKey({ query }: Pick<LivePage, 'query'>): string {
  const asked = Object.keys(query).filter((name) => name !== 'rows');
  const texts = asked
    .toSorted()
    .map((name): [string, string] => [name, queryText({ query }, name)]);
  return new URLSearchParams(texts.filter(([, text]) => text !== '')).toString();
}
