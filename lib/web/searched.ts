// Tables that can be searched and turned page by page: what the query of an address asks for, and
// the addresses of the pages around.

import type { Request } from '@hapi/hapi';
import type { SearchWish } from '../../models/index.ts';

/** Records of one page. */
export const PAGE_RECORDS = 50;
/** Pages that can be asked for; the last record of a greater table is found by searching. */
const PAGE_MAX = 20_000;
const SEARCH_CHARACTERS_MAX = 255;

/** What is asked for. */
export interface Searched {
  readonly text: string;
  /** From 1. */
  readonly page: number;
  /** One record more than is shown tells whether there is a next page. */
  readonly wish: Pick<SearchWish, 'text' | 'offset' | 'limit'>;
}

/** Reads the query; what cannot be read is the first page of everything. */
export function searchedIn(request: Pick<Request, 'query'>): Searched {
  const text = queryText(request, 'q').slice(0, SEARCH_CHARACTERS_MAX);
  const number = queryText(request, 'page');
  const page = /^\d{1,5}$/.test(number) ? Math.min(Math.max(Number(number), 1), PAGE_MAX) : 1;
  const wish = { text, offset: (page - 1) * PAGE_RECORDS, limit: PAGE_RECORDS + 1 };
  return { text, page, wish };
}

/** The addresses of the pages before and after; `kept` are further values of the query. */
export function pagesAround(
  path: string,
  { text, page }: Searched,
  found: number,
  kept: Readonly<Record<string, string>> = {},
): { previous: string | null; next: string | null } {
  const at = (number: number): string => {
    const values = { ...kept, ...(text === '' ? {} : { q: text }), page: String(number) };
    return `${path}?${new URLSearchParams(values).toString()}`;
  };
  return {
    previous: page > 1 ? at(page - 1) : null,
    next: found > PAGE_RECORDS ? at(page + 1) : null,
  };
}

/** The text of a value of the query; empty where there is none, or several. */
export function queryText({ query }: Pick<Request, 'query'>, name: string): string {
  const value: unknown = Object.hasOwn(query, name) ? query[name] : '';
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
    ? value.trim()
    : '';
}

/** Rows in the order of their ids; those that went meanwhile are left out. */
export function inOrder<Row extends { readonly id: string }>(
  ids: readonly string[],
  rows: readonly Row[],
): Row[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => byId.get(id)).filter((row) => row !== undefined);
}
