// Lists of our own that are always answered in pages, in the order of their ids. A cursor is the id
// of the last record that was shown. docs/api.md#lists.

import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { ApiError } from '../http/errors.ts';
import { isFaultless, type Judged } from '../judge/judge.ts';
import { parametersOf, sentOnce } from '../judge/query.ts';
import type { Shown } from '../records/shown.ts';
import type { Services } from '../services.ts';
import { type AskedPage, LIMIT_DEFAULT } from '../operations/id-pages.ts';
import { outsidePath } from './routes.ts';

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

/** Answers a page of records. One more was read: if it is there, another page follows. */
export function answerIdPage<Row extends { readonly id: string }>(
  h: ResponseToolkit,
  services: Pick<Services, 'config'>,
  { path, sent, limit }: { path: string; sent: URLSearchParams; limit: number },
  { found, show }: { found: readonly Row[]; show: (row: Row) => Shown },
): ResponseObject {
  const rows = found.slice(0, limit);
  const response = h.response({ data: rows.map(show) });
  const cursor = found.length > limit ? (rows.at(-1)?.id ?? null) : null;
  return withNextPage(response, services, { path, sent, cursor });
}

/** Adds the address of the next page to an answer. `cursor`: where it begins; null: no more. */
export function withNextPage(
  response: ResponseObject,
  services: Pick<Services, 'config'>,
  { path, sent, cursor }: { path: string; sent: URLSearchParams; cursor: string | null },
): ResponseObject {
  if (cursor === null) return response;
  const query = new URLSearchParams(sent);
  query.set('cursor', cursor);
  const address = `${outsidePath(services)}${path}?${query.toString()}`;
  return response.header('link', `<${address}>; rel="next"`);
}
