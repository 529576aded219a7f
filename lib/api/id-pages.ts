// Lists of our own that are always answered in pages, in the order of their ids. A cursor is the id
// of the last record that was shown. docs/api.md#lists.

import type { ResponseObject } from '@hapi/hapi';
import { ApiError } from '../http/errors.ts';
import { integer, isUuid, text } from '../judge/fields.ts';
import { isFaultless, type Judged } from '../judge/judge.ts';
import { parametersOf, sentOnce } from '../judge/query.ts';
import type { Services } from '../services.ts';
import { LIMIT_DEFAULT, LIMIT_MAX } from './paging.ts';
import { outsidePath } from './routes.ts';

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

/** What a query asks for, judged; throws what is wrong with it. */
export function readIdPage<Values extends AskedPage>(
  search: string,
  judge: (sent: Record<string, unknown>, mode: 'update') => Judged<Values>,
): { readonly values: Values; readonly limit: number; readonly sent: URLSearchParams } {
  const sent = parametersOf(search);
  const { values, faults } = judge(sentOnce(sent), 'update');
  if (!isFaultless(faults)) throw new ApiError('unprocessable', { faults });
  return { values, limit: values.limit ?? LIMIT_DEFAULT, sent };
}

/** An answer with the address of the next page. `last`: the last id of this one; null: no more. */
export function nextIdPage(
  response: ResponseObject,
  services: Pick<Services, 'config'>,
  { path, sent, last }: { path: string; sent: URLSearchParams; last: string | null },
): ResponseObject {
  if (last === null) return response;
  const query = new URLSearchParams(sent);
  query.set('cursor', last);
  const address = `${outsidePath(services)}${path}?${query.toString()}`;
  return response.header('link', `<${address}>; rel="next"`);
}
