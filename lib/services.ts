// What the HTTP server is given: everything it needs of the rest of the process, as one plain
// object, so that tests can inject requests into a server made of a fresh database and nothing
// else. Rooms below the doors do not know it: each says itself what it needs of it.

import type { Finding } from '../dataplane/index.ts';
import type { DocumentLimits } from './auth/documents.ts';
import type { HttpLimits } from './http/listener.ts';
import type { Observed, Readiness, Watched } from './observe/gateway-state.ts';
import type { Shared } from './process/shared.ts';
import type { WhenApplied } from './records/in-force.ts';

/** What the server needs. */
export interface Services extends Shared {
  /** The gateway's public key, base64. */
  readonly serverPublicKey: string;
  /**
   * Waits until this process's data plane obeys a revision; false when `timeoutMs` pass first. A
   * server without a data plane answers false at once.
   */
  readonly whenApplied: WhenApplied;
  readonly readiness: () => Readiness;
  /** What the data plane was seen to do; left out where there is none. */
  readonly observed?: Observed;
  /** The same for metrics. */
  readonly watched?: Watched;
  /** What the doctor finds wrong at present, as far as it is known; left out where nobody looks. */
  readonly checkup?: { readonly findings: () => readonly Finding[] };
  /** Limits of the listener that differ from those of listener.ts. */
  readonly httpLimits?: Partial<HttpLimits>;
  /** Bounds of fetches of providers' documents; those of documents.ts where they are left out. */
  readonly discoveryLimits?: DocumentLimits;
  /** Devices that the data plane has places for; MAX_PEERS where it is left out. */
  readonly maxPeers?: number;
  /** Sign-ins through providers that may be under way; as sign-in-room.ts says where left out. */
  readonly maxSignIns?: number;
  /** Cost of bcrypt; 12 where it is left out. */
  readonly passwordCost?: number;
}
