// The query of a list: it may ask for a page, and only for the records of one owner or e-mail
// address. A cursor names the last record that was shown, by its time and id, which never change.
// So records that are added or deleted meanwhile move no record to another page. docs/api.md#lists.

import { isUuid, resource, text, integer } from '../kit/validation/fields.ts';
import { ApiError } from '../kit/http/errors.ts';
import { hasNoErrors, validatorOf } from '../kit/validation/validate.ts';
import { parametersOf, sentOnce } from '../kit/validation/query.ts';
import { LIMIT_DEFAULT, LIMIT_MAX } from '../kit/operations/id-pages.ts';
import type { Filter, Filters } from '../kit/records/collection.ts';

/** A record's place in lists. */
export interface Position {
  readonly inserted_at: Date;
  readonly id: string;
}

/** What a query asks for. */
export interface ListQuery<Selected> {
  /** What the filters select; null if no record can match. */
  readonly selected: Selected | null;
  /** The page that is asked for; null for the whole list. */
  readonly page: { readonly limit: number; readonly after?: Position } | null;
  /** The parameters that the next page keeps. */
  readonly kept: readonly (readonly [name: string, value: string])[];
}

/** Parameters of every list. */
export const pageFields = resource({
  limit: integer(
    `How many records the page holds; ${LIMIT_DEFAULT} if only a cursor is given.`,
    1,
    LIMIT_MAX,
  ),
  cursor: text('Where the page begins; taken from the `Link` of the page before.').custom(
    (value: string, helpers) => readCursor(value) ?? helpers.error('cursor.bad'),
    'cursor',
  ),
});

const validatePage = validatorOf<{ limit?: number; cursor?: Position }>(pageFields);

/** Reads the query of a list; `search` is the query with its question mark. */
export function readListQuery<Selected extends object>(
  search: string,
  filters: Filters<Selected>,
): ListQuery<Selected> {
  const parameters = parametersOf(search);
  const { values, errors } = validatePage(sentOnce(parameters, ['limit', 'cursor']), 'update');
  if (!hasNoErrors(errors)) throw new ApiError('unprocessable', { errors });
  const { limit, cursor } = values;
  const isPaged = limit !== undefined || cursor !== undefined;
  const wanted = Object.entries(filters).filter(([name]) => parameters.has(name));
  return {
    selected: selectionOf(parameters, wanted),
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

function selectionOf<Selected extends object>(
  parameters: URLSearchParams,
  wanted: readonly (readonly [string, Filter<Selected>])[],
): Selected | null {
  const selection = {} as Selected;
  for (const [name, filter] of wanted) {
    // No record has two values of a field.
    const [value = '', ...others] = new Set(parameters.getAll(name));
    const selected = others.length === 0 ? filter.select(value) : null;
    if (selected === null) return null;
    Object.assign(selection, selected);
  }
  return selection;
}

const TIME_BYTES = 6;
const CURSOR_BYTES = TIME_BYTES + 16;
/** The end of the year 9999, the last time that databases can hold. */
const TIME_MAX_MS = 253_402_300_799_999;

/** Six bytes of milliseconds and the sixteen of the id, in the alphabet of URLs. */
export function writeCursor({ inserted_at, id }: Position): string {
  const bytes = Buffer.alloc(CURSOR_BYTES);
  bytes.writeUIntBE(inserted_at.getTime(), 0, TIME_BYTES);
  bytes.write(id.replaceAll('-', ''), TIME_BYTES, 'hex');
  return bytes.toString('base64url');
}

/** Reads a cursor; null if the text is not one of ours. */
export function readCursor(value: string): Position | null {
  const bytes = Buffer.from(value, 'base64url');
  if (bytes.length !== CURSOR_BYTES || bytes.toString('base64url') !== value) return null;
  const timeMs = bytes.readUIntBE(0, TIME_BYTES);
  const id = bytes
    .toString('hex', TIME_BYTES)
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return timeMs <= TIME_MAX_MS && isUuid(id) ? { inserted_at: new Date(timeMs), id } : null;
}
