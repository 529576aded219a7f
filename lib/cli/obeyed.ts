// A write of a command is in force when the command ends, like a write of the API when it is
// answered: a script may make a device and connect it at once.

import { setTimeout as sleep } from 'node:timers/promises';
import { currentRevision, type Database, readGateways } from '../../models/index.ts';

/** Gateways look once a second, and record then what they obey. */
const LIMIT_MS = 3_000;
const STEP_MS = 50;
/** A gateway that was not seen for so long does not run; it would be waited for in vain. */
const ALIVE_MS = 8_000;

/**
 * Runs what may write to the database, and waits until every running gateway obeys what was
 * written; `isObeyed` is false when `limitMs` pass first.
 */
export async function untilObeyed<T>(
  database: Database,
  work: () => Promise<T>,
  limitMs = LIMIT_MS,
): Promise<{ outcome: T; isObeyed: boolean }> {
  const before = await currentRevision(database);
  const outcome = await work();
  const revision = await currentRevision(database);
  if (revision === before) return { outcome, isObeyed: true };
  const untilMs = performance.now() + limitMs;
  for (;;) {
    const running = await readGateways(database, ALIVE_MS);
    if (running.every(({ applied_revision: applied }) => applied >= revision))
      return { outcome, isObeyed: true };
    if (performance.now() >= untilMs) return { outcome, isObeyed: false };
    await sleep(STEP_MS);
  }
}
