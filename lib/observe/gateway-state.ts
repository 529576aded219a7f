// What is known of the gateway of this process, all of it in memory: whether it serves, what its
// data plane did, what its reconciler does.

import type {
  EgressWay,
  GatewayFacts,
  PeerTotals,
  RuleSample,
  Sample,
} from '../../dataplane/index.ts';
import type { HistoryCounts } from '../reconcile/history.ts';
import type { ReconcilerWork } from '../reconcile/work.ts';
import type { RuleInForce } from '../reconcile/translated-rules.ts';
import type { KnownDevice, Problem } from '../reconcile/known.ts';
import type { FilePart, FileShares } from './file-shares.ts';
import type { PresenceCounts } from './presence.ts';

/** Whether the gateway serves, and why not. */
export interface Readiness {
  readonly status:
    | 'ready'
    | 'starting'
    | 'draining'
    | 'database_unavailable'
    /** The database is away for longer than DATABASE_AWAY_LIMIT: no device passes. */
    | 'database_away'
    /** The database server takes no writes: changes by others are still obeyed. */
    | 'database_read_only'
    /** A later version migrated the database: only what ends is obeyed. */
    | 'schema_newer'
    /** The kernel refuses an address that the TUN had: `reason` names it. */
    | 'tun_address_missing'
    | 'data_plane_down';
  /** Name of the TUN, null without one. */
  readonly tun: string | null;
  readonly masquerade: boolean;
  /** How packets of devices leave; left out by versions before 1.1.0. */
  readonly egress?: EgressWay;
  /** Why they leave that way, where the host or a setting decided it. */
  readonly egress_reason?: string;
  /** What is wrong, where the status alone does not say it. */
  readonly reason?: string;
  /** How many HTTP connections there may be, where too few files may be open for more. */
  readonly connections_max?: number;
  /**
   * Parts of the gateway that have nearly as many files open as each may; left out: none. How many
   * these are is only for those who may read `/metrics`.
   */
  readonly nearly_full?: readonly FilePart[];
}

/** What this process's data plane was seen to do, at most half a second ago. */
export interface Observed {
  /** Packets that were refused, by reason, since the data plane began. */
  readonly drops: () => Readonly<Record<string, number>>;
  /** Records of refused packets that were given up for others, by why. */
  readonly forgotten: () => Readonly<Record<string, number>>;
  /** Answers to the host and the LAN that nobody is where they send to, by what became of them. */
  readonly answers?: () => Readonly<Record<string, number>>;
  /** What sockets in place of a TUN have and did; left out by tests that have none. */
  readonly sockets?: () => Pick<Sample, 'sockets' | 'retransmits'>;
  /** Hits by rule since this process began. */
  readonly rules: () => ReadonlyMap<string, RuleSample>;
  /** Rows that cannot be obeyed as they stand. */
  readonly problems: () => readonly Problem[];
  /** How many devices there are as of the last turn of the reconciler. */
  readonly deviceCount: () => number;
  /** Whether an address, 4 or 16 bytes, is in a network behind a device, as the host sees it. */
  readonly isBehindDevice: (address: Uint8Array) => boolean;
}

/** Captures of packets since this process began. */
export interface CaptureCounts {
  /** How many run now. */
  readonly running: number;
  readonly packets: number;
  /** Packets that a client would have got, had it read faster. */
  readonly lost: number;
}

/** What else metrics show of the gateway of this process. All of it is in memory. */
export interface Watched {
  readonly facts: () => GatewayFacts;
  /** Devices that are served, with what they did since the data plane began. */
  readonly peers: () => Iterable<PeerTotals>;
  readonly deviceOf: (publicKey: string) => KnownDevice | null;
  /** Rules that are in force, with their actions. */
  readonly ruleActions: () => Iterable<RuleInForce>;
  readonly reconciler: () => ReconcilerWork;
  readonly presence: () => PresenceCounts;
  /** What became of the rows of the history; null where none is kept. */
  readonly history: () => HistoryCounts | null;
  /** Who has how many of the open files; left out by tests. */
  readonly fileShares?: () => FileShares;
  /** Whether what was observed cannot be written to the database. */
  readonly isSamplerFailing: () => boolean;
}

/** The flow log since this gateway began. */
export interface FlowLogCounts {
  /** Records that were taken from the data plane. */
  readonly records: Readonly<Record<'opened' | 'ended' | 'refused', number>>;
  /**
   * Records that were lost: the ring of their worker was full, their device had too many in a
   * second, or they could not be reported.
   */
  readonly lost: Readonly<Record<'ring_full' | 'device_share' | 'unsent', number>>;
}
