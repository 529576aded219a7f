// Who asks for something, as plain data. A job and a capture outlive the request that began them,
// so the rooms below the doors get a caller, never a request. http/request-caller.ts makes one of a
// request.

import type { Origin, Revision, Role } from '../../../models/index.ts';

/** By what a request was admitted. */
export interface LetIn {
  readonly tokenId: string | null;
  readonly sessionId: string | null;
  /** The role of its user at that time. */
  readonly role: Role;
}

/** Who asks. */
export interface Caller {
  /** On whose behalf the gateway writes, for the audit trail. */
  readonly origin: Origin;
  /** Asked about again before each write; null where nobody was asked. */
  readonly letIn: LetIn | null;
  /** The user who asks; null where nobody is signed in. */
  readonly userId: string | null;
  /** Whether answers may hold secrets: with a token, only with one of the scope `admin`. */
  readonly seesSecrets: boolean;
  /** Covers what was written for the caller so far; null: nothing was. Whoever writes sets it. */
  revision: Revision | null;
  /** How many policy tests fail because of the write; the code that writes sets it. */
  failing?: number;
}
