// Counts of what was refused or ended, and of what became of sign-ins, for one process. They only
// grow; code that shows them takes differences. Nothing of a request is kept but its reason.

/** What is counted. */
const families = [
  'requests_refused',
  'connections_refused',
  'sign_ins',
  'refreshes',
  'metadata_refreshes',
  'mails',
  'pasta_ends',
  'clock_jumps',
] as const;

/** A family of counts, one for each reason. */
export type CounterFamily = (typeof families)[number];

/** The counts of one process. */
export class Counters {
  readonly #counts: Record<CounterFamily, Map<string, number>> = {
    requests_refused: new Map(),
    connections_refused: new Map(),
    sign_ins: new Map(),
    refreshes: new Map(),
    metadata_refreshes: new Map(),
    mails: new Map(),
    pasta_ends: new Map(),
    clock_jumps: new Map(),
  };

  /** Adds one or more; reasons are words of the code, never of a request, so there are few. */
  add(family: CounterFamily, reason: string, count = 1): void {
    const counts = this.#counts[family];
    counts.set(reason, (counts.get(reason) ?? 0) + count);
  }

  /** One count; 0 for what never happened. */
  of(family: CounterFamily, reason: string): number {
    return this.#counts[family].get(reason) ?? 0;
  }

  /** All counts, by family and reason. */
  read(): Readonly<Record<CounterFamily, Readonly<Record<string, number>>>> {
    return Object.fromEntries(
      families.map((family) => [family, Object.fromEntries(this.#counts[family])]),
    ) as Record<CounterFamily, Record<string, number>>;
  }
}
