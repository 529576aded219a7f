// The audit log, for administrators: the newest entries first, filtered by who, what, which record
// and when. The audit trail holds no secrets.

import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import {
  auditActions,
  type AuditRow,
  type AuditSelection,
  type FieldChange,
  readAuditEntries,
} from '../../../models/index.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { idInTrail } from '../../kit/records/audit.ts';
import { shownNames, shownKinds, storedWords } from '../../kit/records/audit-names.ts';
import { adminPage } from '../kit/route.ts';
import { PAGE_RECORDS, queryText } from '../kit/searched.ts';
import type { Web } from '../kit/web.ts';

const AUDIT = '/audit';
const DAY_MS = 86_400_000;

/** Records that have a page. */
const PAGES: Readonly<Record<string, string>> = {
  user: '/users/',
  device: '/devices/',
  group: '/users/groups/',
  rule: '/rules/',
  policy_test: '/rules/policy_tests/',
};
const FILTERS = ['who', 'action', 'kind', 'record', 'since', 'until'] as const;

type Filters = Readonly<Record<(typeof FILTERS)[number], string>>;

/** The route of the audit log. */
export function auditPages(web: Web): ServerRoute[] {
  return [adminPage('GET', AUDIT, (request, h) => showAudit(web, request, h))];
}

async function showAudit(web: Web, request: Request, h: ResponseToolkit): Promise<ResponseObject> {
  const filters = Object.fromEntries(
    FILTERS.map((name) => [name, queryText(request, name)]),
  ) as Filters;
  const before = queryText(request, 'before');
  const faults = { since: timeFaults(filters.since), until: timeFaults(filters.until) };
  const selection = { ...selectionOf(filters), ...(isUuid(before) ? { beforeId: before } : {}) };
  const found = await readAuditEntries(web.services.database, {
    ...selection,
    limit: PAGE_RECORDS + 1,
  });
  const entries = found.toReversed();
  const shown = entries.slice(0, PAGE_RECORDS);
  const kept = Object.entries(filters).filter(([, value]) => value !== '');
  const at = (further: [string, string][]): string =>
    `${AUDIT}?${new URLSearchParams([...kept, ...further]).toString()}`;
  return web.pages.show(request, h, 'audit', {
    title: 'Audit log',
    filters,
    faults,
    kinds: choices(shownKinds, filters.kind),
    actions: choices(auditActions, filters.action),
    isFiltered: kept.length > 0,
    entries: shown.map(entryView),
    pages: {
      previous: isUuid(before) ? at([]) : null,
      next: entries.length > PAGE_RECORDS ? at([['before', shown.at(-1)?.id ?? '']]) : null,
    },
    days: web.services.config.auditRetentionDays,
  });
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

function timeFaults(text: string): string[] {
  return text === '' || readDay(text) !== null ? [] : ['is not a day such as 2026-11-21'];
}

/** An unknown word in the address stays chosen, so that the page says what it is filtered by. */
function choices(words: readonly string[], chosen: string): [string, string][] {
  const all = chosen === '' || words.includes(chosen) ? words : [...words, chosen];
  return [['', 'any'], ...all.map((word): [string, string] => [word, word.replaceAll('_', ' ')])];
}

function entryView(entry: AuditRow): object {
  const page = PAGES[entry.kind];
  const { actor, kind, changes } = shownNames(entry);
  return {
    id: entry.id,
    time: entry.happened_at.toISOString(),
    who: entry.email ?? actor.replaceAll('_', ' '),
    whoHref: entry.user_id === null ? null : `/users/${entry.user_id}`,
    byToken: entry.token_id !== null,
    address: entry.address,
    what: `${kind.replaceAll('_', ' ')}: ${entry.action}`,
    recordId: entry.record_id,
    recordHref: page === undefined || entry.action === 'delete' ? null : page + entry.record_id,
    recordQuery: `${AUDIT}?${new URLSearchParams({ record: entry.record_id }).toString()}`,
    requestId: entry.request_id,
    changes: Object.entries(changes).map(([name, change]) => ({
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
