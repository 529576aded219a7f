// Carries what is observed up to the database: once a second, and soon after devices came or moved,
// it takes what moved in the data plane and adds it to the devices' statuses. Bytes are increments;
// what could not be written is kept and added to the next attempt, so that totals survive while a
// database is away.

import type { Gateway, RuleSample, Sample } from '../../dataplane/index.ts';
import { type Database, recordStatus, type StatusReport } from '../../models/index.ts';
import { eachBeat } from '../kit/process/beat.ts';
import type { Log } from '../kit/process/log.ts';
import type { History } from './history.ts';
import type { PendingUsage } from './pending-usage.ts';

/**
 * The time between two samples where devices come or move. A gateway that is killed calls at its
 * start those devices whose place was written; all others wait for their own timers, 15 seconds.
 */
const ARRIVALS_MS = 250;
/** Rules whose hits are remembered. */
export const RULES_MAX = 100_000;

/** What a sampler is made of. */
export interface SamplerOptions {
  readonly database: Database;
  readonly gateway: Pick<Gateway, 'sample' | 'whenArrived'>;
  readonly gatewayId: string;
  /** The device behind a public key, null when it is gone. */
  readonly deviceIdOf: (publicKey: string) => string | null;
  readonly log: Log;
  /** Keeps what was carried over time; left out: nothing is kept. */
  readonly history?: History;
  /** Keeps what users carried; left out: nothing is kept. */
  readonly usage?: PendingUsage;
  /** Gets what each sample saw. */
  readonly onSample?: (sample: Sample) => void;
}

/** The sampler of one gateway. */
export class Sampler {
  readonly #options: SamplerOptions;
  /** By device: what has not been written yet. */
  #unwritten = new Map<string, StatusReport>();
  #drops: Readonly<Record<string, number>> = {};
  #forgotten: Readonly<Record<string, number>> = {};
  #answers: Readonly<Record<string, number>> = {};
  #sockets: Pick<Sample, 'sockets' | 'retransmits'> = {};
  readonly #rules = new Map<string, RuleSample>();
  /** Ends the samples of each beat; each is a commit to the disk, so they are no more often. */
  #stopBeat: (() => void) | null = null;
  #early: NodeJS.Timeout | null = null;
  /** When the last sample began, monotonic ms. */
  #sampledAt = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | null = null;
  #isFailing = false;

  constructor(options: SamplerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#stopBeat = eachBeat(() => void this.sample());
    this.#options.gateway.whenArrived(() => this.#sampleSoon());
  }

  /** Takes a sample as soon as the last one is old enough. */
  #sampleSoon(): void {
    if (this.#stopBeat === null || this.#early !== null) return;
    const waitMs = Math.max(0, this.#sampledAt + ARRIVALS_MS - performance.now());
    this.#early = setTimeout(() => {
      this.#early = null;
      // One that is under way may have been taken before they came.
      void (this.#running ?? Promise.resolve()).then(() => this.#once(() => this.#sampleOnce()));
    }, waitMs);
  }

  /** Takes and writes a last sample, and ends. */
  async stop(): Promise<void> {
    this.#stopBeat?.();
    this.#stopBeat = null;
    if (this.#early !== null) clearTimeout(this.#early);
    await this.#running;
    await this.sample();
    await this.#options.usage?.write(true);
    await this.#options.history?.stop();
  }

  /** Refusals by reason since the data plane began. */
  get drops(): Readonly<Record<string, number>> {
    return this.#drops;
  }

  /** Records of refused packets that were given up for others, by why. */
  get forgotten(): Readonly<Record<string, number>> {
    return this.#forgotten;
  }

  /** Answers to the host and the LAN that nobody is where they send to, by what became of them. */
  get answers(): Readonly<Record<string, number>> {
    return this.#answers;
  }

  /** What sockets in place of a TUN have and did; nothing where there are none. */
  get sockets(): Pick<Sample, 'sockets' | 'retransmits'> {
    return this.#sockets;
  }

  /** Hits by rule since the gateway began. */
  get rules(): ReadonlyMap<string, RuleSample> {
    return this.#rules;
  }

  /** True while what was seen cannot be written. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** Takes one sample and writes it; a call while one runs waits for that one. Never rejects. */
  async sample(): Promise<void> {
    await this.#once(() => this.#sampleAndWrite());
  }

  async #once(run: () => Promise<void>): Promise<void> {
    this.#running ??= run().finally(() => {
      this.#running = null;
    });
    await this.#running;
  }

  async #sampleAndWrite(): Promise<void> {
    await this.#sampleOnce();
    await this.#options.usage?.write();
    await this.#options.history?.write();
  }

  async #sampleOnce(): Promise<void> {
    const { database, gateway, gatewayId, log } = this.#options;
    let reports = new Map<string, StatusReport>();
    this.#sampledAt = performance.now();
    try {
      this.#observe(await gateway.sample());
      reports = this.#unwritten;
      if (reports.size === 0) return;
      this.#unwritten = new Map();
      await recordStatus(database, gatewayId, [...reports.values()]);
      if (this.#isFailing) log.info({}, 'traffic totals are written again');
      this.#isFailing = false;
    } catch (error) {
      for (const report of reports.values()) this.#add(report);
      if (!this.#isFailing)
        log.warn(
          { err: error },
          'traffic totals could not be written; they are kept and added later',
        );
      this.#isFailing = true;
    }
  }

  #observe(sample: Sample): void {
    for (const peer of sample.peers) {
      this.#options.usage?.device(peer.publicKey, peer.rxInnerBytes + peer.txInnerBytes);
      const deviceId = this.#options.deviceIdOf(peer.publicKey);
      if (deviceId === null) continue;
      this.#options.history?.device(deviceId, peer.rxInnerBytes, peer.txInnerBytes);
      this.#add({
        deviceId,
        latestHandshake: peer.latestHandshakeMs === null ? null : new Date(peer.latestHandshakeMs),
        // The interface of a link-local address means nothing outside this host.
        remoteIp: peer.endpoint?.address.split('%')[0] ?? null,
        remotePort: peer.endpoint?.port ?? null,
        ownIp: peer.local ?? null,
        rxBytes: peer.rxBytes,
        txBytes: peer.txBytes,
      });
    }
    this.#options.onSample?.(sample);
    for (const rule of sample.rules) {
      this.#addRule(rule);
      this.#options.history?.rule(rule);
    }
    this.#observeDrops(sample.drops);
    this.#forgotten = sample.forgotten;
    this.#answers = sample.answers ?? {};
    const { sockets, retransmits } = sample;
    this.#sockets = sockets === undefined ? {} : { sockets, retransmits: retransmits ?? {} };
  }

  /** Adds a report to what waits; of two the one with the later handshake gives the endpoint. */
  #add(report: StatusReport): void {
    const waiting = this.#unwritten.get(report.deviceId);
    if (waiting === undefined) {
      this.#unwritten.set(report.deviceId, report);
      return;
    }
    const isLater = timeOf(report) >= timeOf(waiting);
    this.#unwritten.set(report.deviceId, {
      ...(isLater ? report : waiting),
      rxBytes: waiting.rxBytes + report.rxBytes,
      txBytes: waiting.txBytes + report.txBytes,
    });
  }

  #addRule(rule: RuleSample): void {
    const known = this.#rules.get(rule.id);
    if (known === undefined && this.#rules.size >= RULES_MAX) {
      // Ids of rules that are gone must not fill the memory.
      const [oldest = ''] = this.#rules.keys();
      this.#rules.delete(oldest);
    }
    this.#rules.set(rule.id, {
      id: rule.id,
      packets: (known?.packets ?? 0) + rule.packets,
      bytes: (known?.bytes ?? 0) + rule.bytes,
      lastHitMs: rule.lastHitMs,
    });
  }

  #observeDrops(drops: Readonly<Record<string, number>>): void {
    const increments = Object.fromEntries(
      Object.entries(drops)
        .map(([reason, count]) => {
          const before = this.#drops[reason] ?? 0;
          // A worker that was started again counts from zero.
          return [reason, count >= before ? count - before : count] as const;
        })
        .filter(([, increment]) => increment !== 0),
    );
    this.#drops = drops;
    this.#options.history?.refusals(increments);
    if (Object.keys(increments).length > 0)
      this.#options.log.debug({ drops: increments }, 'packets were refused');
  }
}

function timeOf(report: StatusReport): number {
  return report.latestHandshake?.getTime() ?? Number.NEGATIVE_INFINITY;
}
