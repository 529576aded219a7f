// The parameters of lists that are always answered in pages, in the order of their ids. A cursor is
// the id of the last record that was shown. docs/api.md#lists.

import { integer, isUuid, text } from '../judge/fields.ts';

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
