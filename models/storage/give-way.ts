// Lets others write between the steps of long work. One program writes to a SQLite file at a time,
// so each step is short, and a pause follows it.

import { setTimeout as sleep } from 'node:timers/promises';

/** The shortest pause. */
const PAUSE_MS = 5;

/** Pauses for as long as the step took that began at `startedAt` (monotonic ms), or for longer. */
export async function giveWay(startedAt: number): Promise<void> {
  await sleep(Math.max(PAUSE_MS, performance.now() - startedAt));
}
