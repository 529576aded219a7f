// Callers for tests of rooms below the doors.

import type { Caller } from '../../../lib/kit/process/caller.ts';
import { GATEWAY } from '../../../models/index.ts';

/** Nobody who is signed in, by a request with an id if it is given. */
export function someCaller(requestId?: string): Caller {
  const origin = { ...GATEWAY, ...(requestId === undefined ? {} : { requestId }) };
  return { origin, letIn: null, userId: null, seesSecrets: true, revision: null };
}
