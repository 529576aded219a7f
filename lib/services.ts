// What the HTTP server is given: everything it needs of the rest of the process, as one plain
// object, so that tests can inject requests into a server made of a fresh database and nothing
// else.

import type { Config } from '../config/index.ts';
import type { Finding, GatewayFacts, PeerTotals, RuleSample } from '../dataplane/index.ts';
import type { Database } from '../models/index.ts';
import type { HttpLimits } from './http/listener.ts';
import type { DocumentLimits } from './auth/documents.ts';
import type { Counters } from './observe/counters.ts';
import type { KnownDevice, PresenceCounts } from './observe/presence.ts';
import type { ReconcilerWork } from './reconcile/reconciler.ts';
import type { Problem } from './reconcile/translation.ts';

/** A log of one room; pino's methods, of which Postern uses these. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Whether the gateway serves, and why not. */
export interface Readiness {
  readonly status:
    | 'ready'
    | 'starting'
    | 'draining'
    | 'database_unavailable'
    /** The same for longer than DATABASE_AWAY_LIMIT: no device passes. */
    | 'database_away'
    /** The database server takes no writes: changes by others are still obeyed. */
    | 'database_read_only'
    | 'data_plane_down';
  /** Name of the TUN, null without one. */
  readonly tun: string | null;
  readonly masquerade: boolean;
}

/** What this process's data plane was seen to do, at most half a second ago. */
export interface Observed {
  /** Packets that were refused, by reason, since the data plane began. */
  readonly drops: () => Readonly<Record<string, number>>;
  /** Hits by rule since this process began. */
  readonly rules: () => ReadonlyMap<string, RuleSample>;
  /** Rows that cannot be obeyed as they stand. */
  readonly problems: () => readonly Problem[];
  /** How many devices there are as of the last turn of the reconciler. */
  readonly deviceCount: () => number;
}

/** What metrics tell of this process's gateway beside; all of it is in memory. */
export interface Watched {
  readonly facts: () => GatewayFacts;
  /** Devices that are served, with what they did since the data plane began. */
  readonly peers: () => Iterable<PeerTotals>;
  readonly deviceOf: (publicKey: string) => KnownDevice | null;
  /** Rules that are in force, with their actions. */
  readonly ruleActions: () => Iterable<readonly [id: string, action: string]>;
  readonly reconciler: () => ReconcilerWork;
  readonly presence: () => PresenceCounts;
  /** Whether what was observed cannot be written to the database. */
  readonly isSamplerFailing: () => boolean;
}

/** What the server needs. */
export interface Services {
  readonly config: Config;
  readonly database: Database;
  readonly log: Log;
  readonly counters: Counters;
  /** The gateway's public key, base64. */
  readonly serverPublicKey: string;
  /**
   * Waits until this process's data plane obeys a revision; false when `timeoutMs` pass first. A
   * server without a data plane answers false at once.
   */
  readonly whenApplied: (revision: number, timeoutMs: number) => Promise<boolean>;
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
