// Which devices went to the other gateways on the database. All gateways have one key, so a device
// is at the gateway that speaks to it last: this gateway must not initiate a handshake with a
// device that went to another one, or the device would go to and fro. A gateway that is alone asks
// for nothing. docs/guides/several-gateways.md.

import {
  type Database,
  readArrivals,
  readLastBackup,
  readOtherGateways,
} from '../../models/index.ts';

/** A gateway that was not seen for so long serves nobody. */
const ALIVE_MS = 60_000;
/** Turns come each second, and more often while rows are written. */
const READ_MS = 500;
/**
 * What is read twice: reports are written up to two seconds after a handshake, later on a cluster
 * that is short of a node, and clocks differ a little.
 */
const OVERLAP_MS = 15_000;

/** What neighbours are looked for with. */
export interface NeighboursOptions {
  readonly database: Database;
  readonly gatewayId: string;
  /** The public key of a device; null for one that is not known yet. */
  readonly publicKeyOf: (deviceId: string) => string | null;
}

/** The other gateways on the database, as one gateway sees them. */
export class Neighbours {
  readonly #options: NeighboursOptions;
  #gatewayIds: readonly string[] = [];
  /** When arrivals were read last, Unix time in ms; null: never, or there were no neighbours. */
  #readAtMs: number | null = null;
  #lastBackupMs: number | null = null;
  /** Arrivals that were reported already, by device, as far back as they are read again. */
  #reported = new Map<string, number>();

  constructor(options: NeighboursOptions) {
    this.#options = options;
  }

  /** When the database was backed up last, Unix time in ms; null: not known, or never. */
  get lastBackupMs(): number | null {
    return this.#lastBackupMs;
  }

  /** Looks who else lives, and when the database was backed up last. */
  async meet(nowMs: number): Promise<void> {
    const { database, gatewayId } = this.#options;
    const seenSince = new Date(nowMs - ALIVE_MS);
    this.#gatewayIds = await readOtherGateways(database, gatewayId, seenSince);
    this.#lastBackupMs = (await readLastBackup(database))?.getTime() ?? null;
    if (this.#gatewayIds.length > 0) return;
    this.#readAtMs = null;
    this.#reported.clear();
  }

  /**
   * Devices that went to other gateways and were not reported before: by public key, the handshake
   * with which they came there, Unix time in ms. All that are there at the first look; none where
   * it was looked just before.
   */
  async arrivals(nowMs: number): Promise<ReadonlyMap<string, number>> {
    const news = new Map<string, number>();
    const { database, publicKeyOf } = this.#options;
    // A clock may be set back.
    const readAtMs = Math.min(this.#readAtMs ?? 0, nowMs);
    if (this.#gatewayIds.length === 0 || nowMs - readAtMs < READ_MS) return news;
    const after = new Date(Math.max(0, readAtMs - OVERLAP_MS));
    const arrivals = await readArrivals(database, this.#gatewayIds, after, new Date(nowMs));
    const reported = new Map<string, number>();
    for (const { deviceId, atMs } of arrivals) {
      const publicKey = publicKeyOf(deviceId);
      if (publicKey === null) continue;
      if (this.#reported.get(deviceId) !== atMs) news.set(publicKey, atMs);
      reported.set(deviceId, atMs);
    }
    this.#reported = reported;
    this.#readAtMs = nowMs;
    return news;
  }
}
