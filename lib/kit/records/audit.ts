// The audit trail as `lib` uses it: how entries are shown, and how old ones are deleted. `models`
// makes sure that every write leaves an entry. docs/state.md#audit-trail.

import { type AuditRow, type Database, pruneAuditEntries } from '../../../models/index.ts';
import { isUuid } from '../validation/fields.ts';
import type { ForgettingTime } from '../process/forgetting.ts';
import type { Chore } from '../process/hourly.ts';
import type { Log } from '../process/log.ts';
import { shownNames } from './audit-names.ts';
import type { ShownEntry } from './fields.ts';
import { showTime } from './shown.ts';

const DAY_MS = 86_400_000;

/** The id of a record as the trail has it: UUIDs in lower case, others as administrators chose. */
export function idInTrail(id: string): string {
  return isUuid(id) ? id.toLowerCase() : id;
}

/** An entry as programs get it. */
export function showEntry(entry: AuditRow): ShownEntry {
  const { actor, kind, changes } = shownNames(entry);
  return {
    id: entry.id,
    happened_at: showTime(entry.happened_at),
    actor,
    user_id: entry.user_id,
    email: entry.email,
    token_id: entry.token_id,
    action: entry.action,
    kind,
    record_id: entry.record_id,
    changes,
    request_id: entry.request_id,
    address: entry.address,
  };
}

/** An entry as a line for people: when, who, from where, what, and the names of the fields. */
export function entryLine(entry: AuditRow): string {
  const { actor, kind, changes } = shownNames(entry);
  return [
    entry.happened_at.toISOString(),
    entry.email ?? actor,
    entry.address ?? '-',
    `${kind} ${entry.action}`,
    entry.record_id,
    Object.keys(changes).join(' '),
  ].join('\t');
}

/**
 * An entry in cells for people: when, who, from where, what was done, to which record, and the
 * names of the fields. Records have the names of that time, and their ids where they had none.
 */
export function entryCells(entry: AuditRow): string[] {
  const { actor, kind, changes } = shownNames(entry);
  return [
    entry.happened_at.toISOString(),
    entry.email ?? actor,
    entry.address ?? '-',
    entry.action,
    `${kind} ${nameOfThatTime(entry)}`,
    Object.keys(changes).join(' '),
  ];
}

function nameOfThatTime({
  kind,
  record_name: name,
  owner_name: owner,
  record_id: id,
}: AuditRow): string {
  if (name === null) return owner === null ? `(${id})` : `of ${owner} (${id})`;
  if (owner === null) return name;
  // People name devices so at the command line.
  return kind === 'device' ? `${owner}/${name}` : `${name} of ${owner}`;
}

/** Forgets entries that are older than `days`. */
export function forgetEntries(
  database: Database,
  days: number,
  log: Log,
  time: ForgettingTime,
): Chore {
  return {
    failure: 'old audit entries were not forgotten',
    async run(isStopping) {
      const before = new Date((await time()).getTime() - days * DAY_MS);
      const count = await pruneAuditEntries(database, before, isStopping);
      if (count > 0) log.info({ count, days }, 'old audit entries were forgotten');
    },
  };
}
