// Changes to thousands of records, for which no request could wait. First the records are found and
// counted, then a person agrees to that number, then they are changed a few at a time while a page
// shows the progress. A record that no longer matches when its turn comes is left as it is, because
// nobody agreed to change it. Each record has its own write, so each has its own entry in the audit
// trail, and each write checks again that the person may still write.

import { randomUUID } from 'node:crypto';
import { ApiError } from '../../kit/http/errors.ts';
import type { Caller } from '../../kit/process/caller.ts';
import { describeError, type Log } from '../../kit/process/log.ts';
import { attempt, errorLine } from './attempt.ts';
import { PageError } from '../../kit/http/page-error.ts';

/** Records that are changed at once. Their writes share transactions, for which others wait. */
const TOGETHER = 16;
/** The most records of one job, and of all jobs that are kept. */
export const JOB_RECORDS_MAX = 100_000;
const KEPT_RECORDS_MAX = 2 * JOB_RECORDS_MAX;
const KEPT_JOBS_MAX = 50;
/** Refused records that the page of a job names, with the reason. */
const NAMED_MAX = 20;

/** What is to be done. */
export interface JobPlan {
  /** The user who asked for it; nobody else sees it or begins it. */
  readonly userId: string;
  readonly ids: readonly string[];
  /** The ids among some that still match. */
  readonly matching: (ids: readonly string[]) => Promise<readonly string[]>;
  readonly names: (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  readonly run: (caller: Caller, id: string) => Promise<unknown>;
  /** The only field that it sets. */
  readonly about?: string;
  /** What its pages say. */
  readonly title: string;
  readonly nouns: readonly [one: string, several: string];
  readonly done: string;
  /** The address of the table that the records were selected in. */
  readonly back: string;
  /** Where the form that begins it is sent. */
  readonly action: string;
}

/** A record that was left as it was. */
export interface Left {
  readonly name: string;
  readonly why: string;
}

/** One job: it waits for consent, runs, has ended or was given up. */
export class Job {
  readonly id = randomUUID();
  readonly plan: JobPlan;
  readonly total: number;
  isOver = false;
  /** Why it was given up before its end. */
  broke: string | null = null;
  done = 0;
  /** Records that somebody deleted, or that no longer match. */
  passedOver = 0;
  refused = 0;
  /** The first NAMED_MAX records that were refused. */
  readonly named: Left[] = [];
  /** In whose name it is done, and when they agreed to it; null before. */
  begun: { readonly caller: Caller; readonly at: Date } | null = null;

  constructor(plan: JobPlan) {
    this.plan = plan;
    this.total = plan.ids.length;
  }

  get isBegun(): boolean {
    return this.begun !== null;
  }

  /** Runs the job; the promise never rejects. */
  async run(caller: Caller, log: Log, isStopping: () => boolean): Promise<void> {
    const { ids } = this.plan;
    try {
      for (let first = 0; first < ids.length && this.broke === null; first += TOGETHER) {
        if (isStopping()) this.broke = 'The gateway stopped.';
        else await this.#runSome(caller, ids.slice(first, first + TOGETHER));
      }
    } catch (error) {
      log.error(
        { request_id: caller.origin.requestId, err: describeError(error) },
        'a job broke off',
      );
      this.broke = 'The gateway could not go on; its log says why.';
    }
    this.isOver = true;
  }

  async #runSome(caller: Caller, ids: readonly string[]): Promise<void> {
    const matching = await this.plan.matching(ids);
    this.passedOver += ids.length - matching.length;
    const names = await this.plan.names(matching);
    // All are awaited, also after one fails: none may write once the page says that it is over.
    const ends = await Promise.allSettled(
      matching.map((id) => this.#runOne(caller, id, names.get(id) ?? id)),
    );
    const failed = ends.find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  }

  async #runOne(caller: Caller, id: string, name: string): Promise<void> {
    try {
      const { errors } = await attempt(() => this.plan.run(caller, id));
      if (errors === null) this.done += 1;
      else this.#refuse({ name, why: errorLine(errors, this.plan.about) });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 'not_found') this.passedOver += 1;
      // The person who agreed to it may not write any more.
      else this.broke = error instanceof PageError ? error.said.text : 'You may not do this now.';
    }
  }

  #refuse(left: Left): void {
    this.refused += 1;
    if (this.named.length < NAMED_MAX) this.named.push(left);
  }
}

/** The jobs of one server, kept in memory until newer ones need the room. */
export class Jobs {
  readonly #log: Log;
  readonly #jobs = new Map<string, Job>();
  readonly #running = new Set<Promise<void>>();
  #isStopping = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Keeps a plan until somebody agrees to it; null if running jobs take all the room. */
  ask(plan: JobPlan): Job | null {
    const job = new Job(plan);
    for (const old of this.#jobs.values()) {
      if (this.#hasRoomFor(job)) break;
      if (!old.isBegun || old.isOver) this.#jobs.delete(old.id);
    }
    if (!this.#hasRoomFor(job)) return null;
    this.#jobs.set(job.id, job);
    return job;
  }

  /** The job with that id, if it belongs to this user. */
  find(id: string, userId: string): Job | null {
    const job = this.#jobs.get(id);
    return job?.plan.userId === userId ? job : null;
  }

  /** Begins a job, once, in the name of the person who agreed to it at a time. */
  begin(job: Job, caller: Caller, at = new Date()): void {
    if (job.isBegun) return;
    job.begun = { caller, at };
    const running = job.run(caller, this.#log, () => this.#isStopping);
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  /** Waits for the writes that have begun, and begins no others. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#running);
  }

  #hasRoomFor(job: Job): boolean {
    const records = [...this.#jobs.values()].reduce((sum, { total }) => sum + total, job.total);
    return records <= KEPT_RECORDS_MAX && this.#jobs.size < KEPT_JOBS_MAX;
  }
}
