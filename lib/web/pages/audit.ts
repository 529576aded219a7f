// The audit log, for administrators: a sentence for each entry, the newest first, grouped by day
// and filtered by who, what, which record and when; and the same as a file. It holds no secrets.

import { Readable } from 'node:stream';
import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import {
  auditActions,
  type AuditRow,
  type AuditSelection,
  type Database,
  type FieldChange,
  readAuditEntries,
} from '../../../models/index.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { idInTrail, showEntry } from '../../kit/records/audit.ts';
import { csvLine } from '../../kit/records/csv.ts';
import { shownNames, shownKinds, storedWords } from '../../kit/records/audit-names.ts';
import { adminPage } from '../kit/route.ts';
import { PAGE_RECORDS, queryText } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';
import { presentNames, type PresentNames, whatIn, whatInAll, whoIn } from '../parts/audit-words.ts';

const AUDIT = '/audit';
const DAY_MS = 86_400_000;
/** Entries that are alike and so near to each other are one line. */
const FOLD_MS = 60_000;
/** Entries that are read together for a file. */
const FILE_RECORDS = 500;

/** Records that have a page. */
const PAGES: Readonly<Record<string, string>> = {
  user: '/users/',
  device: '/devices/',
  group: '/users/groups/',
  rule: '/rules/',
  policy_test: '/rules/policy_tests/',
};
const FILTERS = ['who', 'action', 'kind', 'record', 'since', 'until'] as const;
const FILE_COLUMNS = [
  'id',
  'happened_at',
  'actor',
  'email',
  'token_name',
  'action',
  'kind',
  'record_id',
  'record_name',
  'owner_name',
  'changes',
  'request_id',
  'address',
] as const;

type Filters = Readonly<Record<(typeof FILTERS)[number], string>>;

/** The routes of the audit log. */
export function auditPages(web: Web): ServerRoute[] {
  return [
    adminPage('GET', AUDIT, (request, h) => showAudit(web, request, h)),
    adminPage('GET', `${AUDIT}.csv`, (request, h) => sendCsv(web, request, h)),
    adminPage('GET', `${AUDIT}.json`, (request, h) => sendJson(web, request, h)),
  ];
}

async function showAudit(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const { database, config } = web.services;
  const filters = filtersIn(request);
  const before = queryText(request, 'before');
  const errors = { since: timeErrors(filters.since), until: timeErrors(filters.until) };
  const selection = { ...selectionOf(filters), ...(isUuid(before) ? { beforeId: before } : {}) };
  const found = await readAuditEntries(database, { ...selection, limit: PAGE_RECORDS + 1 });
  const entries = found.toReversed();
  const shown = entries.slice(0, PAGE_RECORDS);
  const kept = Object.entries(filters).filter(([, value]) => value !== '');
  const at = (further: [string, string][], path = AUDIT): string =>
    `${path}?${new URLSearchParams([...kept, ...further]).toString()}`;
  return web.pages.show(request, h, 'audit', {
    title: 'Audit log',
    scripts: ['audit.js'],
    filters,
    errors,
    kinds: choices(shownKinds, filters.kind),
    actions: choices(auditActions, filters.action),
    isFiltered: kept.length > 0,
    days: daysOf(shown, await presentNames(database, shown)),
    files: { csv: at([], `${AUDIT}.csv`), json: at([], `${AUDIT}.json`) },
    pages: {
      previous: isUuid(before) ? at([]) : null,
      next: entries.length > PAGE_RECORDS ? at([['before', shown.at(-1)?.id ?? '']]) : null,
    },
    keptDays: config.auditRetentionDays,
  });
}

function sendCsv(web: Web, request: Request, h: ResponseToolkit): ResponseObject {
  const lines = async function* (): AsyncGenerator<string> {
    yield csvLine(FILE_COLUMNS);
    for await (const entries of everyEntry(web.services.database, filtersIn(request)))
      yield entries.map(csvOf).join('');
  };
  return fileOf(h, lines(), 'csv', 'text/csv; charset=utf-8');
}

function sendJson(web: Web, request: Request, h: ResponseToolkit): ResponseObject {
  const lines = async function* (): AsyncGenerator<string> {
    let between = '[\n';
    for await (const entries of everyEntry(web.services.database, filtersIn(request)))
      for (const entry of entries) {
        yield between + JSON.stringify(withNames(entry));
        between = ',\n';
      }
    yield between === '[\n' ? '[]\n' : '\n]\n';
  };
  return fileOf(h, lines(), 'json', 'application/json; charset=utf-8');
}

function fileOf(
  h: ResponseToolkit,
  lines: AsyncGenerator<string>,
  ending: string,
  type: string,
): ResponseObject {
  return h
    .response(Readable.from(lines, { objectMode: false }))
    .type(type)
    .header('content-disposition', `attachment; filename="audit.${ending}"`);
}

/** All entries that fit, the newest first, some at a time. */
async function* everyEntry(database: Database, filters: Filters): AsyncGenerator<AuditRow[]> {
  const selection = selectionOf(filters);
  for (let beforeId: string | undefined; ;) {
    const found = await readAuditEntries(database, {
      ...selection,
      ...(beforeId === undefined ? {} : { beforeId }),
      limit: FILE_RECORDS,
    });
    if (found.length > 0) yield found.toReversed();
    if (found.length < FILE_RECORDS) return;
    beforeId = found[0]?.id;
  }
}

/** An entry as the API has it, and the names that it was written with. */
function withNames(entry: AuditRow) {
  const { record_name, owner_name, token_name } = entry;
  return { ...showEntry(entry), record_name, owner_name, token_name };
}

function csvOf(entry: AuditRow): string {
  const shown = withNames(entry);
  return csvLine(
    FILE_COLUMNS.map((column) =>
      column === 'changes' ? JSON.stringify(shown.changes) : shown[column],
    ),
  );
}

function filtersIn(request: Request): Filters {
  return Object.fromEntries(FILTERS.map((name) => [name, queryText(request, name)])) as Filters;
}

function selectionOf({ who, action, kind, record, since, until }: Filters) {
  const from = readDay(since);
  const to = readDay(until);
  const selection: Partial<AuditSelection> = {
    ...storedWords({ who: who === '' ? undefined : who, kind: kind === '' ? undefined : kind }),
    ...(action === '' ? {} : { action }),
    ...(record === '' ? {} : { recordId: idInTrail(record) }),
    ...(from === null ? {} : { since: from }),
    // The day itself is included.
    ...(to === null ? {} : { until: new Date(to.getTime() + DAY_MS) }),
  };
  return selection;
}

/** Reads a day in UTC; null if the text is not a day. */
function readDay(text: string): Date | null {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return null;
  const day = new Date(`${text}T00:00:00Z`);
  return Number.isNaN(day.getTime()) || !day.toISOString().startsWith(text) ? null : day;
}

function timeErrors(text: string): string[] {
  return text === '' || readDay(text) !== null ? [] : ['is not a day such as 2026-11-21'];
}

/** An unknown word in the address stays chosen, so that the page says what it is filtered by. */
function choices(words: readonly string[], chosen: string): [string, string][] {
  const all = chosen === '' || words.includes(chosen) ? words : [...words, chosen];
  return [['', 'any'], ...all.map((word): [string, string] => [word, word.replaceAll('_', ' ')])];
}

/** The days of UTC, each with its lines. */
function daysOf(entries: readonly AuditRow[], present: PresentNames): object[] {
  const days = new Map<string, object[]>();
  for (const alike of folded(entries)) {
    const [first] = alike;
    if (first === undefined) continue;
    const day = first.happened_at.toISOString().slice(0, 10);
    const views = alike.map((entry) => entryView(entry, present));
    const line = {
      ...views[0],
      all: views.length === 1 ? null : views,
      what: views.length === 1 ? whatIn(first, present) : whatInAll(alike, present),
    };
    const lines = days.get(day);
    if (lines === undefined) days.set(day, [line]);
    else lines.push(line);
  }
  return [...days].map(([day, lines]) => ({ day, lines }));
}

/**
 * Entries by one actor in one request, with one action and kind, within a minute and a day: each
 * line is where its newest entry is, also where what the request did took turns.
 */
function folded(entries: readonly AuditRow[]): AuditRow[][] {
  const lines: AuditRow[][] = [];
  const latest = new Map<string, AuditRow[]>();
  for (const entry of entries) {
    const key = likeness(entry);
    const line = latest.get(key);
    if (line?.[0] !== undefined && isNear(line[0], entry)) {
      line.push(entry);
      continue;
    }
    const next = [entry];
    lines.push(next);
    latest.set(key, next);
  }
  return lines;
}

/** What entries of one line have in common. */
function likeness({ actor, user_id, token_id, action, kind, request_id }: AuditRow): string {
  return JSON.stringify([actor, user_id, token_id, action, kind, request_id]);
}

function isNear({ happened_at: a }: AuditRow, { happened_at: b }: AuditRow): boolean {
  return (
    Number(a) - Number(b) <= FOLD_MS &&
    a.toISOString().slice(0, 10) === b.toISOString().slice(0, 10)
  );
}

function entryView(entry: AuditRow, present: PresentNames) {
  const { record_id: record, user_id: user, token_id: token } = entry;
  const page = PAGES[entry.kind];
  const time = entry.happened_at.toISOString();
  return {
    time,
    clock: time.slice(11, 16),
    who: whoIn(entry),
    whoHref: user === null || !present.has(user) ? null : `/users/${user}`,
    token: token === null ? null : (entry.token_name ?? token),
    address: entry.address,
    what: whatIn(entry, present),
    record,
    recordHref: page === undefined || !present.has(record) ? null : page + record,
    recordQuery: `${AUDIT}?${new URLSearchParams({ record }).toString()}`,
    request: entry.request_id,
    changes: Object.entries(shownNames(entry).changes).map(([name, change]) => ({
      name,
      ...changeView(change),
    })),
  };
}

function changeView(change: FieldChange): object {
  const parts = { isSecret: false, isList: false };
  if ('changed' in change) return { ...parts, from: null, to: null, isSecret: true };
  if ('added' in change) {
    const { added, removed } = change;
    return { ...parts, from: membersView(removed), to: membersView(added), isList: true };
  }
  return { ...parts, from: valueView(change.from), to: valueView(change.to) };
}

function membersView(members: unknown): string | null {
  if (!Array.isArray(members)) return valueView(members);
  return members.length === 0 ? null : members.map((member) => valueView(member)).join(', ');
}

function valueView(value: unknown): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
