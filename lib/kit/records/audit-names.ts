// The audit trail in the words of the API. Rows keep the words of the database; everything that
// shows entries or looks for them goes through here. docs/api.md#audit-trail.

import {
  auditActors,
  type AuditRow,
  auditKinds,
  type AuditSelection,
  type FieldChange,
  type FieldChanges,
} from '../../../models/index.ts';
import { showTime } from './shown.ts';

/** Kinds that rows call by another name. */
const STORED_KINDS: Readonly<Record<string, string>> = {
  api_token: 'token',
  second_factor: 'second factor',
  recovery_code: 'recovery code',
  recovery_codes: 'recovery codes',
};
const SHOWN_KINDS = new Map(Object.entries(STORED_KINDS).map(([shown, stored]) => [stored, shown]));

/** All actors as they are shown. */
export const shownActors: readonly string[] = auditActors.map(shownActor);
/** All kinds as they are shown, and the words by which rows call some of them. */
export const shownKinds: readonly string[] = auditKinds.map(
  (kind) => SHOWN_KINDS.get(kind) ?? kind,
);
export const kindWords: readonly string[] = [...new Set([...shownKinds, ...auditKinds])];

/** A field that the API shows otherwise than rows have it. */
interface Renamed {
  readonly name: string;
  readonly read: (value: unknown) => unknown;
}

/** The fields that the API names otherwise, by the kind of the row and the column. */
const RENAMED: Readonly<Record<string, Readonly<Record<string, Renamed>>>> = {
  device: {
    expires_at: { name: 'ends_at', read: (value) => value },
    disabled_at: { name: 'enabled', read: (value) => value === null },
  },
  token: {
    scopes: { name: 'scopes', read: (value) => String(value).split(' ') },
  },
};

/** Fields that hold times, and the text of one in a row: no text of anybody is taken for a time. */
const TIME_NAME = /_at$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** What of an entry is shown in other words than its row has. */
export interface ShownNames {
  readonly actor: string;
  readonly kind: string;
  readonly changes: FieldChanges;
}

/** Actor, kind and changes of an entry as they are shown. */
export function shownNames({ actor, kind, changes }: AuditRow): ShownNames {
  const renamed = RENAMED[kind] ?? {};
  return {
    actor: shownActor(actor),
    kind: SHOWN_KINDS.get(kind) ?? kind,
    changes: Object.fromEntries(
      Object.entries(changes).map(([column, change]) => {
        const { name, read } = renamed[column] ?? { name: column, read: (value: unknown) => value };
        return [name, readChange(change, (value) => showValue(name, read(value)))];
      }),
    ),
  };
}

function shownActor(actor: string): string {
  return actor.replaceAll(' ', '_');
}

/** What rows are looked for by, where `who` and `kind` are words of the API or of rows. */
export function storedWords({
  who,
  kind,
}: {
  readonly who?: string | undefined;
  readonly kind?: string | undefined;
}): Pick<AuditSelection, 'who' | 'kind'> {
  return {
    ...(who === undefined ? {} : { who: who === 'command_line' ? 'command line' : who }),
    ...(kind === undefined ? {} : { kind: STORED_KINDS[kind] ?? kind }),
  };
}

function showValue(name: string, value: unknown): unknown {
  const isTime = TIME_NAME.test(name) && typeof value === 'string' && TIME.test(value);
  return isTime ? showTime(new Date(value)) : value;
}

function readChange(change: FieldChange, read: (value: unknown) => unknown): FieldChange {
  if ('changed' in change) return change;
  if ('added' in change) return { added: read(change.added), removed: read(change.removed) };
  return {
    ...('from' in change ? { from: read(change.from) } : {}),
    ...('to' in change ? { to: read(change.to) } : {}),
  };
}
