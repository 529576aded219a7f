// Chores that are done at the start and every hour while the gateway serves: forgetting what is
// old. One that fails is tried again an hour later and holds nothing up.

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
 * Does the chores now and every hour, until the stop, which waits for those under way. While
 * `isWaiting` they are not done: they come when their hour does again.
 */
export function startHourly(
  chores: readonly Chore[],
  log: Log,
  isWaiting: () => boolean = () => false,
): { stop(): Promise<void> } {
  let isStopping = false;
  const runAll = async (): Promise<void> => {
    for (const { failure, run } of isWaiting() ? [] : chores)
      await run(() => isStopping).catch((error: unknown) => {
        // Messages of a database may quote values.
        log.warn({ error: (error as Error).name }, `${failure}; tried again in an hour`);
      });
  };
  let underWay = runAll();
  const timer = setInterval(() => {
    underWay = underWay.then(runAll);
  }, HOUR_MS);
  return {
    stop: () => {
      isStopping = true;
      clearInterval(timer);
      return underWay;
    },
  };
}
