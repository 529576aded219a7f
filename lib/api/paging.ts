// What the query of a list may ask for: a page of it, and the records of one owner or e-mail alone.
// A cursor names the last record that was shown, by time and id, which never change: what others
// add or delete between two pages moves nobody to another page. docs/api.md#lists.

import { isUuid, resource, text, integer } from '../judge/fields.ts';
import { ApiError } from '../http/errors.ts';
import { isFaultless, judgeOf } from '../judge/judge.ts';
import type { Filter, Filters } from '../records/collection.ts';

/** Records of one page at most. */
export const LIMIT_MAX = 1_000;
/** Records of a page where only a cursor is given. */
export const LIMIT_DEFAULT = 100;

/** A record's place in lists. */
export interface Position {
  readonly inserted_at: Date;
  readonly id: string;
}

/** What a query asks for. */
export interface ListQuery<Narrow> {
  /** Null when no record can match. */
  readonly narrow: Narrow | null;
  /** The page that is asked for; null for the whole list. */
  readonly page: { readonly limit: number; readonly after?: Position } | null;
  /** The parameters that the next page keeps. */
  readonly kept: readonly (readonly [name: string, value: string])[];
}

/** Parameters of every list. */
export const pageFields = resource({
  limit: integer(
    `How many records the page holds; ${LIMIT_DEFAULT} where only a cursor is given.`,
    1,
    LIMIT_MAX,
  ),
  cursor: text('Where the page begins; taken from the `Link` of the page before.').custom(
    (value: string, helpers) => readCursor(value) ?? helpers.error('cursor.bad'),
    'cursor',
  ),
});

const judgePage = judgeOf<{ limit?: number; cursor?: Position }>(pageFields);

/** Reads the query of a list; `search` is what follows the path, with its question mark. */
export function readListQuery<Narrow extends object>(
  search: string,
  filters: Filters<Narrow>,
): ListQuery<Narrow> {
  // A plus sign is one, as it is in paths: e-mails have it.
  const parameters = new URLSearchParams(search.replaceAll('+', '%2B'));
  const { values, faults } = judgePage(sentOnce(parameters), 'update');
  if (!isFaultless(faults)) throw new ApiError('unprocessable', { faults });
  const { limit, cursor } = values;
  const isPaged = limit !== undefined || cursor !== undefined;
  const wanted = Object.entries(filters).filter(([name]) => parameters.has(name));
  return {
    narrow: narrowOf(parameters, wanted),
    page: isPaged
      ? { limit: limit ?? LIMIT_DEFAULT, ...(cursor === undefined ? {} : { after: cursor }) }
      : null,
    kept: [
      ...(limit === undefined ? [] : [['limit', String(limit)] as const]),
      ...wanted.map(([name]) => [name, parameters.get(name) ?? ''] as const),
    ],
  };
}

/** The query of the page after a record. */
export function nextPage({ kept }: Pick<ListQuery<object>, 'kept'>, last: Position): string {
  return [...kept, ['cursor', writeCursor(last)] as const]
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
}

/** One that is empty or there several times is no value; a list stands for it and is refused. */
function sentOnce(parameters: URLSearchParams): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  for (const name of ['limit', 'cursor']) {
    const values = parameters.getAll(name);
    const [value = ''] = values;
    if (values.length > 0) sent[name] = values.length === 1 && value !== '' ? value : values;
  }
  return sent;
}

function narrowOf<Narrow extends object>(
  parameters: URLSearchParams,
  wanted: readonly (readonly [string, Filter<Narrow>])[],
): Narrow | null {
  const narrowed = {} as Narrow;
  for (const [name, filter] of wanted) {
    // No record has two values.
    const [value = '', ...others] = new Set(parameters.getAll(name));
    const narrow = others.length === 0 ? filter.select(value) : null;
    if (narrow === null) return null;
    Object.assign(narrowed, narrow);
  }
  return narrowed;
}

const TIME_BYTES = 6;
const CURSOR_BYTES = TIME_BYTES + 16;
/** The end of the year 9999, after which databases know no time. */
const TIME_MAX_MS = 253_402_300_799_999;

/** Six bytes of milliseconds and the sixteen of the id, in the alphabet of URLs. */
export function writeCursor({ inserted_at, id }: Position): string {
  const bytes = Buffer.alloc(CURSOR_BYTES);
  bytes.writeUIntBE(inserted_at.getTime(), 0, TIME_BYTES);
  bytes.write(id.replaceAll('-', ''), TIME_BYTES, 'hex');
  return bytes.toString('base64url');
}

/** Null when the text is no cursor of ours. */
export function readCursor(value: string): Position | null {
  const bytes = Buffer.from(value, 'base64url');
  if (bytes.length !== CURSOR_BYTES || bytes.toString('base64url') !== value) return null;
  const timeMs = bytes.readUIntBE(0, TIME_BYTES);
  const id = bytes
    .toString('hex', TIME_BYTES)
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return timeMs <= TIME_MAX_MS && isUuid(id) ? { inserted_at: new Date(timeMs), id } : null;
}
