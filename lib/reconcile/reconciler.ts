// Carries what should be (the database) to what is (the data plane). One loop, woken by a commit of
// this process, a poll each second, or the moment at which the same rows mean something else. It is
// level-triggered: a lost bell, a crash between commit and bell, another process's write are all
// picked up by the next turn. On an error the last good state stays in force, and health says so;
// what ends by time ends all the same (own-clock.ts).

import type { Amendment, Gateway } from '../../dataplane/index.ts';
import {
  type Database,
  isDatabaseFull,
  isDatabaseReadOnly,
  isUnchangedSince,
  pruneChanges,
  readDevices,
  recordHeartbeat,
  type Revision,
} from '../../models/index.ts';
import { BEAT_MS, eachBeat } from '../kit/process/beat.ts';
import type { Log } from '../kit/process/log.ts';
import { Neighbours } from './neighbours.ts';
import { OwnClock } from './own-clock.ts';
import { type HearLater, readAll, readSince, type RowChanges, type TakeRows } from './read.ts';
import type { TranslateSettings } from './translate.ts';
import type { KnownDevice, Problem, Removal } from './known.ts';
import { Translation } from './translation.ts';
import { UsageReading } from './usage-reading.ts';
import type { ReconcilerWork } from './work.ts';

const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 5_000;
/** A disk that is full has room at some moment: readiness must not lag behind. */
const RETRY_FULL_MS_MAX = 1_000;
/** How far ahead of the time that was used the floor of the next start is. */
const CLOCK_FLOOR_MS = 120_000;
/** No turn takes so long unless something hangs. */
const STUCK_MS = 3_000;
/** Five beats of the process, which may come a little early. */
const HEARTBEAT_MS = 4_900;
/** The least time between two beats, however often something changes. */
const EARLY_BEAT_MS = 500;
/** The least time between two beats while this process writes. */
const BUSY_BEAT_MS = 1_000;
const PRUNE_MS = 60_000;
/** Revisions whose changes are kept for gateways that lag behind. */
const CHANGES_KEPT = 10_000;

/** What of a data plane follows the database. */
type FollowingGateway = Pick<Gateway, 'amend' | 'release'>;

/** What a reconciler is made of. */
export interface ReconcilerOptions {
  readonly database: Database;
  /** Awaited when the first change is handed over: rows are read while it starts. */
  readonly gateway: FollowingGateway | Promise<FollowingGateway>;
  readonly settings: TranslateSettings;
  /** What this gateway's timestamps may have come to before, Unix time in ms. */
  readonly clockFloorMs: number;
  /** How long packets pass while the database cannot be read; infinite where it is left out. */
  readonly awayLimitMs?: number;
  readonly log: Log;
  /** Enters this gateway into the database once more, where it was forgotten. */
  readonly enter?: () => Promise<unknown>;
  /** Hears what came into force. */
  readonly onAmended?: (amendment: Amendment) => void;
  /** Hears who made a handshake with other gateways: by public key, when (Unix ms). */
  readonly onArrivals?: (heardElsewhere: ReadonlyMap<string, number>) => void;
  /** Unix time in ms. */
  readonly wallMs: () => number;
}

interface Waiter {
  readonly revision: number;
  readonly resolve: (applied: boolean) => void;
}

/** The reconciler of one gateway. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #translation: Translation;
  readonly #neighbours: Neighbours;
  readonly #clock: OwnClock;
  readonly #usage: UsageReading;
  /** What `#translation` knows, and what the data plane obeys; null before the first. */
  #readRevision: Revision | null = null;
  /** The version of the database that was read; null where it may be another one. */
  #readVersion: number | null = null;
  #appliedRevision: Revision | null = null;
  #problems: readonly Problem[] = [];
  #error: Error | null = null;
  /** The step of a later version that migrated the database. */
  #laterStep: string | null = null;
  readonly #work = { turns: 0, failures: 0, turnsMs: 0, lastTurnMs: null as number | null };
  /** When the turn that runs began, monotonic ms; null between turns. */
  #turnBeganAt: number | null = null;
  readonly #waiters = new Set<Waiter>();
  #rung = false;
  #rouse: (() => void) | null = null;
  #stopping = false;
  #loop: Promise<void> | null = null;
  /** Whether the gateway is there yet. */
  #isOpen = false;
  #silenceBell: (() => void) | null = null;
  #retryMs = RETRY_MS_MIN;
  #beatAtMs = 0;
  #recordedRevision: Revision | null = null;
  #prunedAtMs = 0;

  /** The greatest time that initiations may be dated with. */
  #greatestMs: number;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    const translation = new Translation(options.settings);
    this.#translation = translation;
    this.#usage = new UsageReading(options, translation);
    this.#neighbours = new Neighbours({
      database: options.database,
      gatewayId: options.settings.gatewayId,
      publicKeyOf: (deviceId) => translation.publicKeyOf(deviceId),
    });
    this.#clock = new OwnClock({
      translation,
      gateway: options.gateway,
      awayLimitMs: options.awayLimitMs ?? Number.POSITIVE_INFINITY,
      log: options.log,
      wallMs: options.wallMs,
      onAcknowledged: (amendment) => this.#noteAcknowledged(amendment),
    });
    this.#greatestMs = options.clockFloorMs;
    // Whoever waits for it learns that it cannot be opened.
    void Promise.resolve(options.gateway).then(
      () => (this.#isOpen = true),
      () => undefined,
    );
  }

  /** Brings the data plane up to the present rows, once, then keeps it there. */
  async start(): Promise<void> {
    this.#silenceBell = this.#options.database.onCommit(() => this.#ring());
    await this.#countedTurn();
    // A start that failed elsewhere was undone meanwhile: nobody would stop the clock.
    if (this.#stopping) return;
    this.#clock.start();
    this.#loop = this.#run();
  }

  /** Ends the loop; the data plane stays as it is. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#silenceBell?.();
    this.#ring();
    this.#clock.stop();
    for (const waiter of this.#waiters) waiter.resolve(false);
    await this.#loop;
  }

  // ---- what others ask ----

  /** The revision that the data plane obeys, -1 before the first. */
  get appliedRevision(): number {
    return this.#appliedRevision ?? -1;
  }

  /** Rows that could not be obeyed as they stand. */
  get problems(): readonly Problem[] {
    return this.#problems;
  }

  /** Why the last turn failed; null when it did not. */
  get error(): Error | null {
    return this.#error;
  }

  /** What it has done, for those who watch. */
  get work(): ReconcilerWork {
    const isFailing = this.#error !== null || this.isStuck;
    const { appliedRevision, isClosed, isSchemaNewer } = this;
    const usersOverQuota = this.#translation.quotas.overCount;
    const { lastBackupMs } = this.#neighbours;
    const now = { appliedRevision, isFailing, usersOverQuota, isClosed, isSchemaNewer };
    return { ...this.#work, ...now, lastBackupMs };
  }

  /** True while a later version has migrated the database: only what ends is obeyed. */
  get isSchemaNewer(): boolean {
    return this.#laterStep !== null;
  }

  /** True while a turn hangs, on a database that accepts and does not answer say. */
  get isStuck(): boolean {
    return this.#turnBeganAt !== null && performance.now() - this.#turnBeganAt > STUCK_MS;
  }

  /** How many devices there are as of the last turn, served or not. */
  get deviceCount(): number {
    return this.#translation.deviceCount;
  }

  /** True while no packet passes, because the database cannot be read for too long. */
  get isClosed(): boolean {
    return this.#clock.isClosed;
  }

  /** The device that a public key belongs to, or belonged to until lately. */
  deviceIdOf(publicKey: string): string | null {
    return this.#translation.deviceIdOf(publicKey);
  }

  /** What `deviceIdOf` says, also of a device that was deleted lately. */
  lastDeviceIdOf(publicKey: string): string | null {
    return this.#translation.lastDeviceIdOf(publicKey);
  }

  /** The owner of the device that `lastDeviceIdOf` names; null if there is none. */
  lastOwnerIdOf(publicKey: string): string | null {
    return this.#translation.lastOwnerIdOf(publicKey);
  }

  /** The public key of a device, also of one that was deleted lately; null if it is not known. */
  lastPublicKeyOf(deviceId: string): string | null {
    return this.#translation.lastPublicKeyOf(deviceId);
  }

  /** The device that is served under a public key; null where none is. */
  servedDeviceOf(publicKey: string): KnownDevice | null {
    return this.#translation.servedDeviceOf(publicKey);
  }

  /** Why the device that has a public key, or had it lately, is not served. */
  whyGone(publicKey: string): Removal {
    return this.#translation.whyGone(publicKey);
  }

  /** Whether a user has a quota. */
  hasQuota(userId: string): boolean {
    return this.#translation.quotas.has(userId);
  }

  /**
   * What rows would change of what is in force if they were committed now; nothing changes. `used`
   * has what their users carried this month.
   */
  tried(changes: RowChanges, used: ReadonlyMap<string, number>): Amendment {
    return this.#translation.tried(changes, used, this.#options.wallMs());
  }

  /** The rules that are in force, and what each does. */
  ruleActions(): ReturnType<Translation['ruleActions']> {
    return this.#translation.ruleActions();
  }

  /** Waits until a revision is in force; false when `timeoutMs` pass first. */
  whenApplied(revision: number, timeoutMs: number): Promise<boolean> {
    if (this.appliedRevision >= revision) return Promise.resolve(true);
    if (this.#stopping) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = setTimeout(() => waiter.resolve(false), timeoutMs);
      const waiter: Waiter = {
        revision,
        resolve: (applied) => {
          clearTimeout(timer);
          this.#waiters.delete(waiter);
          resolve(applied);
        },
      };
      this.#waiters.add(waiter);
    });
  }

  // ---- the loop ----

  #ring(): void {
    this.#rung = true;
    this.#rouse?.();
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      await this.#rest();
      if (this.#stopping) return;
      const wasRung = this.#rung;
      this.#rung = false;
      this.#turnBeganAt = performance.now();
      try {
        await this.#countedTurn();
        // A database that can be read and not written, on a full disk say, is no success.
        await this.#housekeeping(wasRung);
        this.#onSuccess();
      } catch (error) {
        await this.#onFailure(error);
      }
      this.#turnBeganAt = null;
    }
  }

  /** Waits for the bell, the poll or the next change, whichever is first. */
  async #rest(): Promise<void> {
    if (this.#rung && this.#error === null) return;
    const untilChange = this.#translation.nextChangeAtMs - this.#options.wallMs();
    const limit = this.#error === null ? Math.max(0, untilChange) : this.#retryMs;
    const ends: (() => void)[] = [];
    await new Promise<void>((resolve) => {
      // Without an error it polls at the next beat, or earlier where something changes by then.
      if (this.#error === null) ends.push(eachBeat(resolve));
      if (limit < BEAT_MS || this.#error !== null) {
        const timer = setTimeout(resolve, limit);
        ends.push(() => clearTimeout(timer));
      }
      this.#rouse = () => {
        // After a failure the bell must not turn waiting into a busy loop.
        if (this.#error === null || this.#stopping) resolve();
      };
    });
    for (const end of ends) end();
    this.#rouse = null;
  }

  async #countedTurn(): Promise<void> {
    const began = performance.now();
    await this.#turn();
    this.#work.turns += 1;
    this.#work.turnsMs += performance.now() - began;
    this.#work.lastTurnMs = this.#options.wallMs();
  }

  /** One turn: read what changed, say what it means now, put it in force. */
  async #turn(): Promise<void> {
    const { database, wallMs } = this.#options;
    const translation = this.#translation;
    const since = this.#readRevision;
    const take: TakeRows = async (changes) => {
      translation.take(changes, wallMs());
      // Everything else is here by then: at a start devices are called while others are read.
      if (since === null && this.#isOpen && changes.devices.size > 0) await this.#putInForce();
    };
    const wasNewer = this.isSchemaNewer;
    const later: HearLater = {
      hear: (step) => this.#hearLater(step),
      takeEnds: (ends) => translation.takeEnds(ends, wallMs()),
    };
    const version = database.version();
    const isKnown = version !== null && !wasNewer;
    const isAsRead =
      isKnown && (version === this.#readVersion || (await isUnchangedSince(database, since)));
    this.#readVersion = null;
    let revision = since;
    if (revision === null) revision = await readAll(database, take);
    else if (isAsRead) translation.passTo(wallMs());
    else revision = await readSince(database, revision, take, later);
    this.#readVersion = version;
    this.#readRevision = revision;
    if (this.isSchemaNewer) {
      // The revision that is obeyed stays: of what came since, the ends alone are.
      await this.#putInForce();
      await this.#usage.tryRead(wallMs());
      await this.#putInForce();
      return;
    }
    if (wasNewer) {
      this.#readRevision = null;
      return this.#turn();
    }
    const { returning } = translation;
    if (returning.length > 0) translation.hear(await readDevices(database, { ids: returning }));
    await this.#usage.read(wallMs());
    await this.#putInForce();
    await this.#clock.noteRead();
    this.#appliedRevision = revision;
    for (const waiter of this.#waiters) if (waiter.revision <= revision) waiter.resolve(true);
  }

  /** Takes whether a later version migrated the database, which can still be read. */
  async #hearLater(step: string | null): Promise<void> {
    const { log } = this.#options;
    const wasNewer = this.isSchemaNewer;
    this.#laterStep = step;
    if (step !== null) await this.#clock.noteRead();
    if (step !== null && !wasNewer)
      log.error(
        { schema: step },
        'a later version migrated the database; until this gateway is upgraded it obeys only what disables, deletes or ends, changes no rule and takes no writes',
      );
    if (step === null && wasNewer)
      log.warn({}, 'the database has the schema of this version again; all of it is obeyed');
  }

  /** Puts in force what the rows mean by now, unless that is in force already. */
  async #putInForce(): Promise<void> {
    const translation = this.#translation;
    // What the clock hands over is a part of what this turn puts in force.
    await this.#clock.idle;
    const amendment = translation.pending();
    if (amendment === null) return;
    translation.handOver();
    try {
      await (await this.#options.gateway).amend(amendment);
    } catch (error) {
      translation.takeBack(amendment);
      throw error;
    }
    this.#noteAcknowledged(amendment);
  }

  #noteAcknowledged(amendment: Amendment): void {
    this.#options.onAmended?.(amendment);
    this.#report(this.#translation.problems);
  }

  #report(problems: readonly Problem[]): void {
    const known = new Set(this.#problems.map((problem) => `${problem.id} ${problem.message}`));
    for (const problem of problems)
      if (!known.has(`${problem.id} ${problem.message}`))
        this.#options.log.warn({ ...problem }, 'a row cannot be obeyed as it is');
    this.#problems = problems;
  }

  #onSuccess(): void {
    if (this.#error !== null)
      this.#options.log.info({}, 'the data plane follows the database again');
    this.#error = null;
    this.#retryMs = RETRY_MS_MIN;
  }

  async #onFailure(cause: unknown): Promise<void> {
    const error = cause instanceof Error ? cause : new Error(String(cause));
    // The next connection may find the server that is the primary now.
    if (isDatabaseReadOnly(error)) await this.#options.database.reconnect().catch(() => undefined);
    this.#work.failures += 1;
    if (this.#error === null)
      this.#options.log.error(
        { err: error },
        'the data plane cannot follow the database; what was in force stays in force',
      );
    const mostMs = isDatabaseFull(error) ? RETRY_FULL_MS_MAX : RETRY_MS_MAX;
    if (this.#error !== null) this.#retryMs = Math.min(mostMs, this.#retryMs * 2);
    this.#error = error;
  }

  async #housekeeping(wasRung: boolean): Promise<void> {
    const { database, wallMs } = this.#options;
    const nowMs = wallMs();
    const sinceBeatMs = Math.abs(nowMs - this.#beatAtMs);
    if (sinceBeatMs >= HEARTBEAT_MS) {
      await this.#beat(nowMs);
      await this.#neighbours.meet(nowMs);
    } else if (
      sinceBeatMs >= (wasRung ? BUSY_BEAT_MS : EARLY_BEAT_MS) &&
      this.#recordedRevision !== this.#appliedRevision
    )
      // A command waits until it reads that we obey its change; other gateways show what we obey.
      await this.#beat(nowMs);
    const arrivals = await this.#neighbours.arrivals(nowMs);
    if (arrivals.size > 0) {
      (await this.#options.gateway).release(arrivals);
      this.#options.onArrivals?.(arrivals);
    }
    if (!this.isSchemaNewer && Math.abs(nowMs - this.#prunedAtMs) >= PRUNE_MS) {
      await pruneChanges(database, CHANGES_KEPT);
      this.#prunedAtMs = nowMs;
    }
  }

  /** Records that this gateway lives, and which revision it obeys. */
  async #beat(nowMs: number): Promise<void> {
    const { database, settings } = this.#options;
    const revision = this.#appliedRevision;
    if (revision === null) return;
    this.#greatestMs = Math.max(this.#greatestMs, nowMs);
    const beat = {
      seenAt: new Date(nowMs),
      appliedRevision: revision,
      clockFloor: new Date(this.#greatestMs + CLOCK_FLOOR_MS),
    };
    if (!(await recordHeartbeat(database, settings.gatewayId, beat))) {
      // Whoever was away from the database for very long was forgotten there. What is entered says
      // when it was started, and nothing of now.
      await this.#options.enter?.();
      await recordHeartbeat(database, settings.gatewayId, beat);
    }
    this.#beatAtMs = nowMs;
    this.#recordedRevision = revision;
  }
}
