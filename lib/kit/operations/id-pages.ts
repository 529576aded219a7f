// The parameters of lists that are always answered in pages, in the order of their ids. A cursor is
// the id of the last record that was shown. docs/api.md#lists.

import { integer, isUuid, text } from '../validation/fields.ts';
import type { Shown } from '../records/shown.ts';
import { type Input, type Operation, type Pages, pages } from './operation.ts';

/** The most records of one page. */
export const LIMIT_MAX = 1_000;
/** The records of a page where the request says no number. */
export const LIMIT_DEFAULT = 100;

/** The parameters of a page. */
export const idPageFields = {
  limit: integer(
    `How many are answered at most; ${LIMIT_DEFAULT} if it is left out.`,
    1,
    LIMIT_MAX,
  ),
  cursor: text('Where the page begins; taken from the `Link` of the page before.').custom(
    (value: string, helpers) => (isUuid(value) ? value.toLowerCase() : helpers.error('cursor.bad')),
    'cursor',
  ),
};

/** The page that a request asks for. */
export interface AskedPage {
  readonly limit?: number;
  readonly cursor?: string;
}

/** The part of a list that is wanted. */
export interface WantedPage<Asked> extends Omit<Input<object, Asked>, 'body'> {
  readonly limit: number;
  /** The id of the last record of the page before; null: the first page. */
  readonly afterId: string | null;
}

/** A list in the order of ids. */
interface IdPages<in Rooms, Asked> extends Omit<Pages<Rooms, Asked>, 'kind' | 'page'> {
  /** Reads at most so many records. */
  readonly page: (rooms: Rooms, wanted: WantedPage<Asked>) => Promise<readonly Shown[]>;
}

/** Makes a list that is always answered in pages, in the order of the ids of its records. */
export function idPages<Rooms, Asked extends AskedPage = AskedPage>({
  page,
  ...operation
}: IdPages<Rooms, Asked>): Operation<Rooms> {
  return pages<Rooms, Asked>({
    ...operation,
    async page(rooms, { params, query }) {
      const { limit = LIMIT_DEFAULT, cursor: afterId = null } = query;
      // One more record is read than was asked for: if it exists, there is a next page.
      const found = await page(rooms, { params, query, afterId, limit: limit + 1 });
      const records = found.slice(0, limit);
      return { records, next: found.length > limit ? String(records.at(-1)?.['id']) : null };
    },
  });
}
