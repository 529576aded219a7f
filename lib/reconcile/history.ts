// Carries the history up to the database: what devices, rules and the gateway as a whole carried in
// ten minutes, what was refused, and when devices connected. A sum is written once a minute, by at
// most two statements a second together. Sums that cannot be written are kept, and added later;
// when too much waits, the oldest is lost, and counted. docs/state.md#history.

import type { RuleSample } from '../../dataplane/index.ts';
import {
  type ConnectionEnd,
  type Database,
  endConnections,
  type HistoryKind,
  recordConnections,
  recordHistory,
  STEPS,
} from '../../models/index.ts';
import type { Log } from '../kit/process/log.ts';
import { PendingConnections, type Remote } from './pending-connections.ts';
import { PendingSums } from './pending-sums.ts';

/** How many sums of each kind, and connections, wait at most: some 15 MB of each. */
const WAITING_MAX = 100_000;
/** Statements in one second. */
const STATEMENTS_PER_TURN = 2;

/** What the history of a gateway is made of. */
export interface HistoryOptions {
  readonly database: Database;
  readonly gatewayId: string;
  readonly log: Log;
  /** Unix time in ms. */
  readonly wallMs?: () => number;
  /** Monotonic ms. */
  readonly nowMs?: () => number;
  /** For tests. */
  readonly waitingMax?: number;
}

/** What became of the rows of a history since the process began. */
export interface HistoryCounts {
  readonly written: number;
  readonly lost: number;
  readonly waiting: number;
}

/** Writes some rows; false where there are none. Throws what the database says. */
type Statement = () => Promise<boolean>;

/** The history that one gateway writes. */
export class History {
  readonly #options: HistoryOptions;
  readonly #wallMs: () => number;
  readonly #nowMs: () => number;
  readonly #sums: Readonly<Record<HistoryKind, PendingSums>>;
  readonly #connections: PendingConnections;
  #written = 0;
  #isFailing = false;
  /** The statement that was asked last, by its place. */
  #next = 0;

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.#wallMs = options.wallMs ?? (() => Date.now());
    this.#nowMs = options.nowMs ?? (() => performance.now());
    const max = options.waitingMax ?? WAITING_MAX;
    this.#sums = {
      device: new PendingSums(max),
      rule: new PendingSums(max),
      gateway: new PendingSums(max),
      refusal: new PendingSums(max),
    };
    this.#connections = new PendingConnections(options.gatewayId, max);
  }

  /** What became of its rows. */
  get counts(): HistoryCounts {
    const all = [...Object.values(this.#sums), this.#connections];
    return {
      written: this.#written,
      lost: all.reduce((sum, { lost }) => sum + lost, 0),
      waiting: all.reduce((sum, { size }) => sum + size, 0),
    };
  }

  /** A device carried so many bytes inside the tunnel since its last report. */
  device(deviceId: string, rxBytes: number, txBytes: number): void {
    // Keepalives and handshakes alone leave nothing.
    if (rxBytes === 0 && txBytes === 0) return;
    const [start, nowMs] = [this.#start(), this.#nowMs()];
    this.#sums.device.add(deviceId, start, rxBytes, txBytes, nowMs);
    this.#sums.gateway.add('', start, rxBytes, txBytes, nowMs);
  }

  /** A rule decided on packets. */
  rule({ id, packets, bytes }: RuleSample): void {
    this.#sums.rule.add(id, this.#start(), packets, bytes, this.#nowMs());
  }

  /** Packets were refused, by reason. */
  refusals(counts: Readonly<Record<string, number>>): void {
    for (const [reason, count] of Object.entries(counts))
      this.#sums.refusal.add(reason, this.#start(), count, 0, this.#nowMs());
  }

  /** A device connected. */
  connected(deviceId: string, remote: Remote | null): void {
    this.#connections.begin(deviceId, remote, this.#wallMs());
  }

  /** A device disconnected. */
  disconnected(deviceId: string, reason: ConnectionEnd): void {
    this.#connections.end(deviceId, reason, this.#wallMs());
  }

  /** Writes what has waited for long enough; called once a second. Never rejects. */
  async write(): Promise<void> {
    await this.#try(async () => {
      const statements = this.#statements(false);
      let left = STATEMENTS_PER_TURN;
      for (let asked = 0; asked < statements.length && left > 0; asked += 1) {
        // In turns, so that no kind has to wait for another that never ends.
        this.#next = (this.#next + 1) % statements.length;
        if ((await statements[this.#next]?.()) === true) left -= 1;
      }
    });
  }

  /** Writes all that waits, and ends what lasts: this gateway stops. Never rejects. */
  async stop(): Promise<void> {
    await this.#try(async () => {
      for (const statement of this.#statements(true)) while (await statement());
      const { database, gatewayId } = this.#options;
      await endConnections(database, gatewayId, 'gateway_stopped', new Date(this.#wallMs()));
    });
  }

  #statements(all: boolean): Statement[] {
    const sums =
      (kind: HistoryKind): Statement =>
      () =>
        this.#writeSums(kind, all);
    const kinds = ['device', 'gateway', 'refusal', 'rule'] as const;
    return [...kinds.map(sums), () => this.#writeConnections()];
  }

  async #writeSums(kind: HistoryKind, all: boolean): Promise<boolean> {
    const { database, gatewayId } = this.#options;
    const pending = this.#sums[kind];
    const reports = pending.take(this.#nowMs(), all);
    if (reports.length === 0) return false;
    try {
      await recordHistory(database, gatewayId, kind, reports);
    } catch (error) {
      pending.giveBack(reports, this.#nowMs());
      throw error;
    }
    this.#written += reports.length;
    return true;
  }

  async #writeConnections(): Promise<boolean> {
    const taken = this.#connections.take();
    if (taken.length === 0) return false;
    try {
      await recordConnections(this.#options.database, taken);
    } catch (error) {
      this.#connections.giveBack(taken);
      throw error;
    }
    this.#written += taken.length;
    return true;
  }

  async #try(work: () => Promise<void>): Promise<void> {
    const { log } = this.#options;
    try {
      await work();
      if (this.#isFailing) log.info({}, 'the history is written again');
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing)
        log.warn({ err: error }, 'the history could not be written; it is kept and added later');
      this.#isFailing = true;
    }
  }

  /** When the present ten minutes began, Unix time in seconds. */
  #start(): number {
    const nowS = Math.floor(this.#wallMs() / 1_000);
    return nowS - (nowS % STEPS[0]);
  }
}
