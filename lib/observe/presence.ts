// Which devices are connected to this gateway, for the log and for metrics. A device connects by
// its first handshake after a silence, and disconnects when no keys of it can serve any more: its
// last handshake is older than REJECT_AFTER_TIME, or it made one with another gateway since, or it
// is no longer served. A clock that nobody sets measures ages, so that a step of the
// wall clock disconnects nobody.

import type { PeerSample } from '../../dataplane/index.ts';
import type { Log } from '../kit/process/log.ts';
import type { History } from '../reconcile/history.ts';
import type { KnownDevice, Removal } from '../reconcile/known.ts';

/** A device that was silent for longer has no keys that still serve: REJECT_AFTER_TIME. */
export const ONLINE_MS = 180_000;

/** Why a device is connected no more. */
type Ending = 'silent' | 'elsewhere' | Removal;

const NO_ENDS: Readonly<Record<Ending, number>> = {
  silent: 0,
  elsewhere: 0,
  switched_off: 0,
  expired: 0,
  owner_disabled: 0,
  session_ended: 0,
  key_replaced: 0,
  deleted: 0,
  removed: 0,
};

/** How often devices came and went since this process began. */
export interface PresenceCounts {
  readonly connected: number;
  readonly connects: number;
  readonly disconnects: Readonly<Record<Ending, number>>;
}

interface Connection {
  readonly device: KnownDevice;
  /**
   * The time of the last handshake as the data plane dates it: another value is another handshake.
   */
  readonly handshakeMs: number;
  /** Monotonic ms. */
  readonly sinceMs: number;
  readonly heardMs: number;
}

/** A device that made a handshake with another gateway, or is not served any more. */
interface Departure {
  /**
   * The time of that handshake or of the removal, Unix time in ms; earlier handshakes do not count.
   */
  readonly handshakeMs: number;
  /** Monotonic ms. */
  readonly toldMs: number;
}

/** What a presence is made of. */
export interface PresenceOptions {
  /** The device that is served under a public key; null where none is. */
  readonly deviceOf: (publicKey: string) => KnownDevice | null;
  /** Why the device that has or had a public key is not served. */
  readonly whyGone: (publicKey: string) => Removal;
  readonly log: Log;
  /** Hears of each connection; left out: nobody does. */
  readonly history?: Pick<History, 'connected' | 'disconnected'>;
  /** Monotonic ms. */
  readonly nowMs?: () => number;
}

/** The connections of one gateway. */
export class Presence {
  readonly #options: PresenceOptions;
  readonly #nowMs: () => number;
  /** By public key, the one with the latest handshake at the end. */
  readonly #connections = new Map<string, Connection>();
  /** By public key, the one that was reported last at the end: its sample may be old. */
  readonly #departures = new Map<string, Departure>();
  #connects = 0;
  readonly #disconnects = { ...NO_ENDS };

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  /** What there is to count. */
  get counts(): PresenceCounts {
    return {
      connected: this.#connections.size,
      connects: this.#connects,
      disconnects: { ...this.#disconnects },
    };
  }

  /** How long a device has been connected, in ms; null: it is not. */
  connectedForMs(publicKey: string): number | null {
    const present = this.#connections.get(publicKey);
    return present === undefined ? null : this.#nowMs() - present.sinceMs;
  }

  /** Takes what the data plane saw, and lets time pass. */
  observe(samples: readonly PeerSample[]): void {
    const nowMs = this.#nowMs();
    for (const sample of samples) this.#hear(sample, nowMs);
    for (const [publicKey, { heardMs }] of this.#connections) {
      if (nowMs - heardMs < ONLINE_MS) break;
      this.#end(publicKey, 'silent', nowMs);
    }
    for (const [publicKey, { toldMs }] of this.#departures) {
      if (nowMs - toldMs < ONLINE_MS) break;
      this.#departures.delete(publicKey);
    }
  }

  /**
   * Ends the connections of devices that made a handshake with another gateway since they made one
   * with this: by public key, when (Unix ms).
   */
  letGo(heardElsewhere: ReadonlyMap<string, number>): void {
    const nowMs = this.#nowMs();
    for (const [publicKey, handshakeMs] of heardElsewhere) {
      this.#depart(publicKey, handshakeMs, nowMs);
      const present = this.#connections.get(publicKey);
      if (present !== undefined && present.handshakeMs < handshakeMs)
        this.#end(publicKey, 'elsewhere', nowMs);
    }
  }

  /** Ends the connections of devices that are not served any more. */
  remove(publicKeys: Iterable<string>): void {
    const nowMs = this.#nowMs();
    for (const publicKey of publicKeys) {
      // Its last sample may still be on its way, and another device may get its key meanwhile.
      this.#depart(publicKey, Date.now(), nowMs);
      this.#end(publicKey, this.#options.whyGone(publicKey), nowMs);
    }
  }

  #depart(publicKey: string, handshakeMs: number, toldMs: number): void {
    this.#departures.delete(publicKey);
    this.#departures.set(publicKey, { handshakeMs, toldMs });
  }

  #hear({ publicKey, latestHandshakeMs, endpoint }: PeerSample, nowMs: number): void {
    if (latestHandshakeMs === null) return;
    const present = this.#connections.get(publicKey);
    if (present?.handshakeMs === latestHandshakeMs) return;
    const departure = this.#departures.get(publicKey);
    if (departure !== undefined && latestHandshakeMs < departure.handshakeMs) return;
    // The last words of one that was removed come after it was.
    const device = this.#options.deviceOf(publicKey);
    if (device === null) return;
    this.#connections.delete(publicKey);
    this.#connections.set(publicKey, {
      device,
      handshakeMs: latestHandshakeMs,
      sinceMs: present?.sinceMs ?? nowMs,
      heardMs: nowMs,
    });
    if (present !== undefined) return;
    this.#connects += 1;
    const { history, log } = this.#options;
    history?.connected(device.id, endpoint);
    log.info({ device_id: device.id, user_id: device.userId }, 'a device connected');
    if (endpoint !== null)
      log.debug({ device_id: device.id, ...endpoint }, 'the endpoint of a device that connected');
  }

  #end(publicKey: string, reason: Ending, nowMs: number): void {
    const connection = this.#connections.get(publicKey);
    if (connection === undefined) return;
    this.#connections.delete(publicKey);
    this.#disconnects[reason] += 1;
    const { device, sinceMs } = connection;
    this.#options.history?.disconnected(device.id, reason);
    const seconds = Math.round((nowMs - sinceMs) / 1_000);
    this.#options.log.info(
      { device_id: device.id, user_id: device.userId, reason, seconds },
      'a device disconnected',
    );
  }
}
