// Everything that the HTTP server needs from the rest of the process, as one plain object. So tests
// can inject requests into a server that only has a new database. Rooms below the doors do not know
// this type; each of them declares what it needs.

import type { Finding } from '../dataplane/index.ts';
import type { DocumentLimits } from './auth/documents.ts';
import type { DiagnosingGateway } from './observe/diagnosis/diagnose.ts';
import type { CapturingGateway } from './observe/capture/captures.ts';
import type { ExplainingGateway } from './observe/explain/elsewhere.ts';
import type { RecentTraffic } from './observe/history/recent-traffic.ts';
import type { LiveGateway } from './observe/live/gateway.ts';
import type { HttpLimits } from './kit/http/listener.ts';
import type { FlowLogCounts, Observed, Readiness, Watched } from './observe/gateway-state.ts';
import type { Mails } from './kit/mail/mailer.ts';
import type { Shared } from './kit/process/shared.ts';
import type { WhenApplied } from './kit/http/in-force.ts';

/** What the server needs. */
export interface Services extends Shared {
  /** The gateway's public key, base64. */
  readonly serverPublicKey: string;
  /**
   * Waits until a revision is in force in the data plane of this process; false if `timeoutMs` pass
   * first. Without a data plane it is false at once.
   */
  readonly whenApplied: WhenApplied;
  readonly readiness: () => Readiness;
  /** What was observed of the data plane; left out if there is none. */
  readonly observed?: Observed;
  /** What metrics read of the data plane and the reconciler; left out if there is none. */
  readonly watched?: Watched;
  /** What this gateway carried lately; left out if there is no data plane. */
  readonly recent?: RecentTraffic;
  /** Who explains what becomes of packets; left out if there is no data plane. */
  readonly explaining?: ExplainingGateway;
  /** Who says why devices cannot connect; left out if there is no data plane. */
  readonly diagnosing?: DiagnosingGateway;
  /** Who lists live flows and refused packets; left out if there is no data plane. */
  readonly live?: LiveGateway;
  /** Who captures packets; left out if there is no data plane. */
  readonly capturing?: CapturingGateway;
  /** What was reported of flows; left out if there is no data plane. */
  readonly flowLog?: () => FlowLogCounts;
  /** What the doctor finds wrong at present, as far as it is known; left out if it does not run. */
  readonly checkup?: {
    /** Waits until it was looked for once, but not for long. */
    readonly firstLook?: () => Promise<void>;
    readonly findings: () => readonly Finding[];
    /** What is wrong with the route of the host to an address; null: nothing. */
    readonly routeTo?: (address: string) => Promise<Finding | null>;
  };
  /** Who sends mails; left out where the settings name no server. */
  readonly mails?: Mails;
  /** Limits of the listener that differ from those of listener.ts. */
  readonly httpLimits?: Partial<HttpLimits>;
  /** Limits for fetching documents of providers; by default those of documents.ts. */
  readonly discoveryLimits?: DocumentLimits;
  /** The clock of the limits of requests, in ms; by default monotonic time. */
  readonly limitsNow?: () => number;
  /** How many devices the data plane has room for; by default MAX_PEERS. */
  readonly maxPeers?: number;
  /** How many sign-ins through providers may be unfinished; by default as sign-in-room.ts says. */
  readonly maxSignIns?: number;
  /** Cost of bcrypt; by default 12. */
  readonly passwordCost?: number;
}
