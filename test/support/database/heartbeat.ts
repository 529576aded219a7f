// The heartbeat of a gateway without the gateway: a row that moves, for tests of what must not
// happen while one runs.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import {
  type Database,
  newId,
  NO_REVISION,
  recordHeartbeat,
  registerGateway,
} from '../../../models/index.ts';

/** Enters a gateway that has stopped; returns its id. */
export async function enterGateway(database: Database): Promise<string> {
  const gateway = { id: newId(), name: 'here', startedAt: new Date() };
  return (await registerGateway(database, gateway)).id;
}

/** One beat. */
export async function beat(database: Database, id: string): Promise<void> {
  await recordHeartbeat(database, id, { seenAt: new Date(), appliedRevision: NO_REVISION });
}

/** Beats until it is stopped, or the test ends; no beat is left under way then. */
export function startBeating(
  t: ExecutionContext,
  database: Database,
  id: string,
): { stop: () => Promise<void> } {
  let isOver = false;
  const beating = (async () => {
    while (!isOver) {
      await beat(database, id);
      await sleep(50);
    }
  })();
  const stop = async (): Promise<void> => {
    isOver = true;
    await beating;
  };
  t.teardown(stop);
  return { stop };
}
