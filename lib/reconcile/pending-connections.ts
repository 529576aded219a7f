// Connections of devices on their way into the database. Each is written when it begins and when it
// ends; what waits is bounded, and what is lost is counted.

import { type Connection, type ConnectionEnd, newId } from '../../models/index.ts';

/** Rows of one statement. */
const ROWS_MAX = 500;

/** Where a device came from. */
export interface Remote {
  readonly address: string;
  readonly port: number;
}

/** The connections of one gateway that last, and what of all waits to be written. */
export class PendingConnections {
  readonly #gatewayId: string;
  readonly #max: number;
  /** By device: those that last. */
  readonly #lasting = new Map<string, Connection>();
  /** By id, the one that has waited longest first. */
  readonly #waiting = new Map<string, Connection>();
  #lost = 0;

  /** `max`: how many may wait. */
  constructor(gatewayId: string, max: number) {
    this.#gatewayId = gatewayId;
    this.#max = max;
  }

  /** How many wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** How many were lost because too many waited. */
  get lost(): number {
    return this.#lost;
  }

  /** A device connected; `nowMs` is Unix time. */
  begin(deviceId: string, remote: Remote | null, nowMs: number): void {
    const connection: Connection = {
      id: newId(),
      deviceId,
      gatewayId: this.#gatewayId,
      connectedAt: nowMs,
      disconnectedAt: null,
      // The interface of a link-local address means nothing outside this host.
      remoteIp: remote?.address.split('%')[0] ?? null,
      remotePort: remote?.port ?? null,
      reason: null,
    };
    this.#lasting.set(deviceId, connection);
    this.#write(connection);
  }

  /** A device disconnected; `nowMs` is Unix time, which may have been set back meanwhile. */
  end(deviceId: string, reason: ConnectionEnd, nowMs: number): void {
    const connection = this.#lasting.get(deviceId);
    if (connection === undefined) return;
    this.#lasting.delete(deviceId);
    const disconnectedAt = Math.max(nowMs, connection.connectedAt);
    this.#write({ ...connection, disconnectedAt, reason });
  }

  /** Takes some of what waits. */
  take(): readonly Connection[] {
    const taken: Connection[] = [];
    for (const [id, connection] of this.#waiting) {
      if (taken.length >= ROWS_MAX) break;
      this.#waiting.delete(id);
      taken.push(connection);
    }
    return taken;
  }

  /** Takes back what could not be written; what ended meanwhile is known better. */
  giveBack(connections: readonly Connection[]): void {
    for (const connection of connections)
      if (!this.#waiting.has(connection.id)) this.#write(connection);
  }

  #write(connection: Connection): void {
    this.#waiting.set(connection.id, connection);
    if (this.#waiting.size <= this.#max) return;
    const [oldest = ''] = this.#waiting.keys();
    this.#waiting.delete(oldest);
    this.#lost += 1;
  }
}
