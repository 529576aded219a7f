// One page of a great table: what the address asks for (text, state, order, page), the rows that
// are found, and the links around them: other pages, other orders, the whole as a file.

import { Readable } from 'node:stream';
import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import {
  countFound,
  type Database,
  type Searchable,
  searchIds,
  searchOrders,
  searchStates,
  type SearchWish,
  type StateFacts,
} from '../../../models/index.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { csvLine } from '../../kit/records/csv.ts';
import { PAGE_RECORDS, queryText, SEARCH_CHARACTERS_MAX } from './searched.ts';

/** Records that are read together for a file. */
const FILE_RECORDS = 500;
/** Pages around the present one that have a link of their own. */
const NEIGHBOURS = 2;

/** A table of the console. */
export interface TablePlan {
  readonly table: Searchable;
  readonly path: string;
  /** Labels of the states, in the order of the choice. */
  readonly states: Readonly<Record<string, string>>;
}

/** What an address asks for. */
export type Asked = Required<Pick<SearchWish, 'text' | 'isDescending'>> &
  Pick<SearchWish, 'state' | 'order' | 'userId' | 'groupId'> &
  StateFacts;

/** A page that was found. */
export interface FoundPage {
  readonly ids: readonly string[];
  /** For the partials finder, dense and pager. */
  readonly view: FinderView;
}

/** What views show around the rows. */
export interface FinderView {
  readonly text: string;
  readonly state: string;
  readonly states: readonly (readonly [value: string, label: string])[];
  /** What a search keeps of the address. */
  readonly kept: Readonly<Record<string, string>>;
  readonly isFiltered: boolean;
  /** The column that sorts them, with - before it where the greatest come first; empty: none. */
  readonly sort: string;
  /** Whether the last of them is on this page. */
  readonly isEnd: boolean;
  /** Whose records alone are shown: `of ann@example.com`, and the address without that. */
  readonly filters: readonly { readonly label: string; readonly without: string }[];
  /** How many are found, on all pages. */
  readonly total: number;
  /** `51 to 100 of 1,234`. */
  readonly summary: string;
  readonly file: string;
  /** The address of this very page, and what its query says. */
  readonly here: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  /** By order: the link of a column's head, and how it is sorted by it. */
  readonly sorts: Readonly<Record<string, { href: string; sorted: string | null }>>;
  readonly pages: object;
}

/** Which filters of the address each table has. */
const FILTERS: Readonly<Record<Searchable, readonly ('owner' | 'group')[]>> = {
  users: ['group'],
  user_groups: [],
  invitations: ['group'],
  devices: ['owner', 'group'],
  rules: ['owner', 'group'],
  api_tokens: ['owner'],
};

/** Reads the query; what cannot be read asks for nothing. */
export function askedIn(
  request: Pick<Request, 'query'>,
  { table }: Pick<TablePlan, 'table'>,
  facts: StateFacts = {},
): Asked {
  const [state, sort] = [queryText(request, 'state'), queryText(request, 'sort')];
  const order = sort.replace(/^-/, '');
  const filter = (name: 'owner' | 'group', field: 'userId' | 'groupId') => {
    const id = queryText(request, name).toLowerCase();
    return FILTERS[table].includes(name) && isUuid(id) ? { [field]: id } : {};
  };
  return {
    text: queryText(request, 'q').slice(0, SEARCH_CHARACTERS_MAX),
    isDescending: sort.startsWith('-'),
    ...(searchStates(table).includes(state) ? { state } : {}),
    ...(searchOrders(table).includes(order) ? { order } : {}),
    ...filter('owner', 'userId'),
    ...filter('group', 'groupId'),
    ...facts,
  };
}

/** Finds the page; a number beyond the last page is the last page. */
export async function findPage(
  database: Database,
  request: Pick<Request, 'query'>,
  plan: TablePlan,
  facts: StateFacts = {},
): Promise<FoundPage> {
  const asked = askedIn(request, plan, facts);
  const idsOf = (offset: number): Promise<string[]> =>
    searchIds(database, plan.table, { ...asked, offset, limit: PAGE_RECORDS });
  const wanted = (numberIn(request) - 1) * PAGE_RECORDS;
  const found = await idsOf(wanted);
  // A page that is not full is the last one, and says how many there are.
  const isLast = found.length < PAGE_RECORDS && (found.length > 0 || wanted === 0);
  const least = found.length === 0 ? 0 : wanted + found.length;
  const total = isLast ? least : Math.max(least, await countFound(database, plan.table, asked));
  const last = Math.max(1, Math.ceil(total / PAGE_RECORDS));
  const page = Math.min(numberIn(request), last);
  const offset = (page - 1) * PAGE_RECORDS;
  const ids = offset === wanted ? found : await idsOf(offset);
  const place = { page, last, total, offset, shown: ids.length };
  return { ids, view: viewOf(plan, asked, place, await filterNames(database, asked)) };
}

/** The ids that the page of an address has by now; the number of the page is that of a page. */
export function idsOfPage(
  database: Database,
  request: Pick<Request, 'query'>,
  { table }: Pick<TablePlan, 'table'>,
  facts: StateFacts = {},
): Promise<string[]> {
  const offset = (numberIn(request) - 1) * PAGE_RECORDS;
  const asked = askedIn(request, { table }, facts);
  return searchIds(database, table, { ...asked, offset, limit: PAGE_RECORDS });
}

function numberIn(request: Pick<Request, 'query'>): number {
  const number = queryText(request, 'page');
  return /^\d{1,9}$/.test(number) ? Math.max(Number(number), 1) : 1;
}

/** The names of those whose records alone are asked for. */
async function filterNames(
  { models }: Database,
  { userId, groupId }: Asked,
): Promise<Readonly<Record<'owner' | 'group', string>>> {
  const owner = userId === undefined ? null : await models.User.findByPk(userId);
  const group = groupId === undefined ? null : await models.Group.findByPk(groupId);
  return { owner: owner?.email ?? 'nobody', group: `group ${group?.name ?? 'unknown'}` };
}

/** An entry of a row's menu: it opens a page, whose path has * for the id, or does a change. */
export type MenuItem = {
  readonly label: string;
  readonly tone?: 'danger';
  /** Rows that are switched off have it alone, or all others. */
  readonly only?: 'off' | 'on' | 'staged';
} & ({ readonly path: string } | { readonly change: string; readonly action?: string });

/**
 * For the partial dense: the menu of its rows. A script opens it beside a row; without scripts the
 * page is asked again, and shows it in the row that its address names.
 */
export function menuOf(
  request: Pick<Request, 'query'>,
  { path }: Pick<TablePlan, 'path'>,
  { here, query }: Pick<FinderView, 'here' | 'query'>,
  items: readonly MenuItem[],
): object {
  const open = queryText(request, 'menu');
  return { items, open, path, action: `${path}/many`, back: here, kept: query };
}

/** For the partial dense: how to select all that are found; null where one page shows them. */
export function everyOf({ ids, view }: FoundPage, nouns: string): object | null {
  const { total, text, state, kept, isFiltered } = view;
  if (total <= ids.length) return null;
  const which = isFiltered ? 'that match this search' : 'that there are';
  return {
    label: `All ${total.toLocaleString('en')} ${nouns} ${which}, on every page`,
    fields: Object.entries({ owner: '', group: '', ...kept, q: text, state }).filter(
      ([name]) => name !== 'sort',
    ),
  };
}

/** Everything that the address finds, as a file; `linesOf` reads the rows of some ids. */
export function sendFile(
  h: ResponseToolkit,
  name: string,
  database: Database,
  { table }: TablePlan,
  asked: Asked,
  head: readonly string[],
  linesOf: (ids: readonly string[]) => Promise<(string | number | null)[][]>,
): ResponseObject {
  const lines = async function* (): AsyncGenerator<string> {
    yield csvLine(head);
    for (let offset = 0; ; offset += FILE_RECORDS) {
      const ids = await searchIds(database, table, { ...asked, offset, limit: FILE_RECORDS });
      if (ids.length > 0) yield (await linesOf(ids)).map(csvLine).join('');
      if (ids.length < FILE_RECORDS) return;
    }
  };
  return h
    .response(Readable.from(lines(), { objectMode: false }))
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${name}.csv"`);
}

interface Place {
  readonly page: number;
  readonly last: number;
  readonly total: number;
  readonly offset: number;
  readonly shown: number;
}

function viewOf(
  plan: TablePlan,
  asked: Asked,
  place: Place,
  names: Readonly<Record<'owner' | 'group', string>>,
): FinderView {
  const { text, state = '', order, isDescending, userId = '', groupId = '' } = asked;
  const { page, last, total, offset, shown } = place;
  const sort = order === undefined ? '' : `${isDescending ? '-' : ''}${order}`;
  const present = { q: text, state, owner: userId, group: groupId, sort, page: '1' };
  const queryOf = (changes: Record<string, string>): [string, string][] =>
    Object.entries({ ...present, ...changes }).filter(
      ([name, value]) => value !== '' && !(name === 'page' && value === '1'),
    );
  const at = (changes: Record<string, string>, path = plan.path): string => {
    const kept = queryOf(changes);
    return kept.length === 0 ? path : `${path}?${new URLSearchParams(kept).toString()}`;
  };
  const turned = (to: number): string => at({ page: String(to) });
  return {
    text,
    state,
    states: [['', 'All'], ...Object.entries(plan.states)],
    kept: Object.fromEntries(
      Object.entries({ owner: userId, group: groupId, sort }).filter(([, value]) => value !== ''),
    ),
    sort,
    isEnd: page === last,
    isFiltered: text !== '' || state !== '' || userId !== '' || groupId !== '',
    filters: (['owner', 'group'] as const)
      .filter((name) => (name === 'owner' ? userId : groupId) !== '')
      .map((name) => ({ label: `of ${names[name]}`, without: at({ [name]: '' }) })),
    total,
    summary: summaryOf(offset, shown, total),
    file: at({}, `${plan.path}.csv`),
    here: turned(page),
    query: queryOf({ page: String(page) }),
    sorts: Object.fromEntries(
      searchOrders(plan.table).map((name) => {
        const isBy = name === order;
        const sorted = isBy ? (isDescending ? 'descending' : 'ascending') : null;
        return [name, { href: at({ sort: isBy && !isDescending ? `-${name}` : name }), sorted }];
      }),
    ),
    pages: {
      previous: page > 1 ? turned(page - 1) : null,
      next: page < last ? turned(page + 1) : null,
      numbers: last === 1 ? [] : numbersOf(page, last, turned),
    },
  };
}

function summaryOf(offset: number, shown: number, total: number): string {
  const [from, to, all] = [offset + 1, offset + shown, total].map((n) => n.toLocaleString('en'));
  return shown === total ? `${all} in all` : `${from} to ${to} of ${all}`;
}

/** The first page, the last and those around; null where some are left out. */
function numbersOf(page: number, last: number, turned: (to: number) => string): (object | null)[] {
  const wanted = Array.from({ length: 2 * NEIGHBOURS + 1 }, (_, i) => page - NEIGHBOURS + i);
  const shown = [...new Set([1, ...wanted, last])].filter((one) => one >= 1 && one <= last);
  return shown.flatMap((one, i) => {
    const link = { number: one.toLocaleString('en'), href: turned(one), isCurrent: one === page };
    return one - (shown[i - 1] ?? 0) > 1 ? [null, link] : [link];
  });
}
