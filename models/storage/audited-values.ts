// How an entry of the audit trail keeps values: for a list, the members that were added and
// removed; for a long value, only a part. Entries of people who are no administrators are smaller,
// so that nobody can fill the disk with them. docs/state.md#audit-trail.

import { createHash } from 'node:crypto';

/** What happened to a field; a secret one only `changed`. */
export type FieldChange =
  | { readonly from?: unknown; readonly to?: unknown }
  /** Members of a list, in its order. */
  | { readonly added: unknown; readonly removed: unknown }
  | { readonly changed: true };

/**
 * In characters of JSON; only the length of longer values is kept, so that an entry stays small.
 */
export const VALUE_CHARACTERS_MAX = 4_096;
/** The limit for lists that somebody who is no administrator writes. */
export const UNPRIVILEGED_LIST_CHARACTERS_MAX = 512;
/** If such a person writes a longer text, its beginning, its length and its SHA-256 are kept. */
export const UNPRIVILEGED_TEXT_CHARACTERS_MAX = 256;

/** What happened to a value that was there before and is there after. */
export function changeOfValue(from: unknown, to: unknown): FieldChange {
  if (!Array.isArray(from) || !Array.isArray(to)) return { from, to };
  const [added, removed] = [membersBeside(to, from), membersBeside(from, to)];
  // Where only the order changed, the lists themselves say how.
  return added.length + removed.length === 0 ? { from, to } : { added, removed };
}

/** A change as an entry keeps it. */
export function boundChange(change: FieldChange, isUnprivileged: boolean): FieldChange {
  if ('changed' in change) return change;
  const values = Object.entries(change).map(([name, value]) => [
    name,
    boundValue(value, isUnprivileged),
  ]);
  return Object.fromEntries(values) as FieldChange;
}

/** Members of a list that another one does not have; of equal ones as many as it has more. */
function membersBeside(list: readonly unknown[], other: readonly unknown[]): unknown[] {
  const counts = new Map<string, number>();
  for (const member of other) {
    const json = JSON.stringify(member);
    counts.set(json, (counts.get(json) ?? 0) + 1);
  }
  return list.filter((member) => {
    const json = JSON.stringify(member);
    const count = counts.get(json) ?? 0;
    counts.set(json, count - 1);
    return count <= 0;
  });
}

function boundValue(value: unknown, isUnprivileged: boolean): unknown {
  if (isUnprivileged && typeof value === 'string')
    return value.length > UNPRIVILEGED_TEXT_CHARACTERS_MAX ? partOf(value) : value;
  const max = isUnprivileged ? UNPRIVILEGED_LIST_CHARACTERS_MAX : VALUE_CHARACTERS_MAX;
  const { length } = JSON.stringify(value ?? null);
  return length > max ? `(${length} characters of JSON)` : value;
}

/** The beginning of a text, with its length and its SHA-256, by which equal texts are found. */
function partOf(text: string): string {
  const sha256 = createHash('sha256').update(text).digest('hex');
  const beginning = text.slice(0, UNPRIVILEGED_TEXT_CHARACTERS_MAX).toWellFormed();
  return `${beginning}… (${text.length} characters, SHA-256 ${sha256})`;
}
