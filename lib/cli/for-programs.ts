// Records as programs read them. What programs know of them never changes, so a field that came
// later is there only where it says something.

import type { Shown } from '../kit/records/shown.ts';

const LATER: ReadonlySet<string> = new Set(['name', 'disabled_by']);

/** A record without later fields that say nothing. */
export function forPrograms(record: Shown): Shown {
  const kept = Object.entries(record).filter(([name, value]) => value !== null || !LATER.has(name));
  return Object.fromEntries(kept);
}
