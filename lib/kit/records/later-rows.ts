// Tokens and sessions on a database that a later version migrated. Those that are newer than its
// step may be limited in a way that this version does not know. docs/state.md#a-later-schema.

import type { Database } from '../../../models/index.ts';
import { ApiError } from '../http/errors.ts';

/** So far apart the clocks of two gateways may be. */
const SKEW_MS = 10_000;

/** Refuses callers who were admitted by a row that this version may not understand. */
export function refuseLaterRow({ later }: Pick<Database, 'later'>, insertedAt: Date): void {
  if (later !== null && insertedAt.getTime() > later.since.getTime() - SKEW_MS)
    throw new ApiError('schema_newer', { detail: `a row is newer than ${later.step}` });
}
