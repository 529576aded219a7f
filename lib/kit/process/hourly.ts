// Chores that are done every hour while the gateway serves, from the start on or from a time after
// it: deleting old rows. A chore that fails is tried again an hour later and delays nothing else.

import type { Log } from './log.ts';

const HOUR_MS = 3_600_000;

/** A chore that is done again and again. */
export interface Chore {
  /** For the log where it fails: "old sessions were not forgotten". */
  readonly failure: string;
  /** What takes long asks between its steps whether the gateway stops. */
  readonly run: (isStopping: () => boolean) => Promise<void>;
}

/**
 * Does the chores after a time, at once if it is 0, and then every hour, until the stop. It waits
 * for those under way. While `isWaiting` they are not done: they come when their hour does again.
 */
export function startHourly(
  chores: readonly Chore[],
  log: Log,
  { firstMs = 0, isWaiting = () => false }: { firstMs?: number; isWaiting?: () => boolean } = {},
): { stop(): Promise<void> } {
  let isStopping = false;
  const runAll = async (): Promise<void> => {
    for (const { failure, run } of isWaiting() ? [] : chores)
      await run(() => isStopping).catch((error: unknown) => {
        // Messages of a database may quote values.
        log.warn({ error: (error as Error).name }, `${failure}; tried again in an hour`);
      });
  };
  let underWay = firstMs === 0 ? runAll() : Promise.resolve();
  const next = (): void => {
    underWay = underWay.then(runAll);
    timer = setTimeout(next, HOUR_MS);
  };
  let timer = setTimeout(next, firstMs === 0 ? HOUR_MS : firstMs);
  return {
    stop: () => {
      isStopping = true;
      clearTimeout(timer);
      return underWay;
    },
  };
}
