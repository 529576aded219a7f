// What tables share: texts of the query of an address, and pages of lists that are not searched. A
// table that can be searched is in table-page.ts.

import type { Request } from '@hapi/hapi';
import { isUuid } from '../../kit/validation/fields.ts';

/** Records of one page. */
export const PAGE_RECORDS = 50;
/** Records of one page of a list that is not searched. */
const LIST_RECORDS = 100;
/** Characters of a search. */
export const SEARCH_CHARACTERS_MAX = 255;

/** The text of a value of the query; empty where there is none, or several. */
export function queryText({ query }: Pick<Request, 'query'>, name: string): string {
  const value: unknown = Object.hasOwn(query, name) ? query[name] : '';
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
    ? value.trim()
    : '';
}

/** Some records in the order of their ids, and where the others are. */
export async function pageById<Row extends { id: string }>(
  request: Pick<Request, 'query'>,
  path: string,
  read: (afterId: string | null, limit: number) => Promise<Row[]>,
): Promise<{ records: Row[]; pages: { previous: string | null; next: string | null } }> {
  const asked = queryText(request, 'after');
  const after = isUuid(asked) ? asked.toLowerCase() : '';
  const found = await read(after === '' ? null : after, LIST_RECORDS + 1);
  const records = found.slice(0, LIST_RECORDS);
  const last = found.length > LIST_RECORDS ? records.at(-1) : undefined;
  return {
    records,
    pages: {
      previous: after === '' ? null : path,
      next: last === undefined ? null : `${path}?after=${last.id}`,
    },
  };
}
