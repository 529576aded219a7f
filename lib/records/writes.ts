// Writes of the API. Those that arrive while another one runs would only wait for it (SQLite has
// one writer; MySQL's meet on the same locks), so they wait together and share one transaction: one
// begin, one set of locks, one revision, one commit to the disk. Whoever may not write any more is
// refused (actors.ts); it is asked with the locks and with what the first works judge by, because a
// database may be far away. Each work judges before it writes, so a refused one leaves
// nothing behind and harms no other; if a write fails, everything is rolled back and each work runs
// again alone. Nobody hears anything before the commit.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Request } from '@hapi/hapi';
import {
  actAs,
  type Database,
  isDatabaseAway,
  lockScopes,
  type Origin,
  type Revision,
  type Scopes,
  type Transaction,
  writeTransaction,
} from '../../models/index.ts';
import { judgeActors, type LetIn, letInBy } from './actors.ts';
import { originOf } from './audit.ts';
import { ApiError } from '../http/errors.ts';
import { noteRevision } from './in-force.ts';
import { type Faults, isFaultless } from '../judge/judge.ts';

/** Works that share a transaction at most; it bounds how long others are kept waiting. */
const TOGETHER_MAX = 32;
/** How long a transaction waits at most for writes that are likely to come. */
const GATHER_MS = 8;
/** How long a write may have waited behind one that found the database away and still try. */
const PATIENCE_MS = 5_000;
/** Runs of a work that another writer overtakes between its judgement and its write. */
const RUNS_MAX = 5;

/** One write of one request. It may run several times and must have no effect but its writes. */
export interface Work<Plan, Result> {
  /** What must not change between judging and writing. Rows are locked by `judge`. */
  readonly scopes?: Pick<Scopes, 'configuration' | 'addressPool'>;
  /** Loads and judges; throws an ApiError to refuse. Never writes. */
  judge(transaction: Transaction): Promise<Plan>;
  /** Writes what was judged. Whatever it throws undoes the whole transaction. */
  write(transaction: Transaction, plan: Plan): Promise<Result>;
}

/** Works of one kind, which are judged and written at once where they meet in a transaction. */
export interface JointWork<Input, Plan, Result> {
  /** As in `Work`. */
  scopes?(input: Input): Pick<Scopes, 'configuration' | 'addressPool'>;
  /**
   * Loads, and judges the first of the inputs, at least one: each as if those before it were
   * written. An ApiError in the place of a plan refuses. Never writes.
   */
  judge(transaction: Transaction, inputs: readonly Input[]): Promise<readonly (Plan | ApiError)[]>;
  /** Writes what was judged; a result for each plan, and no other rows made than theirs. */
  write(transaction: Transaction, plans: readonly Plan[]): Promise<readonly Result[]>;
}

/** What a work came to, once the transaction is committed. */
type Outcome = { readonly result: unknown } | { readonly refusal: ApiError };

interface Waiting {
  readonly work: JointWork<unknown, unknown, unknown>;
  readonly input: unknown;
  /** Who writes, for the audit trail. */
  readonly origin: Origin;
  /** By what the request was let in; asked again before it writes. */
  readonly actor: LetIn | null;
  readonly sinceMs: number;
  readonly resolve: (written: { result: unknown; revision: Revision }) => void;
  readonly reject: (error: unknown) => void;
}

/** Runs the writes of one server. */
export class Writes {
  readonly #database: Database;
  #waiting: Waiting[] = [];
  #isRunning = false;
  /** How many writes the next transaction waits for, and what is called once they are there. */
  #expected = 0;
  #gathered: () => void = () => undefined;
  readonly #patienceMs: number;

  constructor(database: Database, patienceMs = PATIENCE_MS) {
    this.#database = database;
    this.#patienceMs = patienceMs;
  }

  /** Runs a write for a request, and notes the revision that covers it. */
  run<Plan, Result>(request: Request, work: Work<Plan, Result>): Promise<Result> {
    return this.join(request, alone(work), null);
  }

  /** As `run`, for one input of a kind of works; those that wait with it are done at once. */
  async join<Input, Plan, Result>(
    request: Request,
    work: JointWork<Input, Plan, Result>,
    input: Input,
  ): Promise<Result> {
    const { result, revision } = await new Promise<{ result: unknown; revision: Revision }>(
      (resolve, reject) => {
        const joint = work as JointWork<unknown, unknown, unknown>;
        const [origin, actor] = [originOf(request), letInBy(request)];
        const sinceMs = Date.now();
        this.#waiting.push({ work: joint, input, origin, actor, sinceMs, resolve, reject });
        if (!this.#isRunning) void this.#runAll();
        else if (this.#waiting.length >= this.#expected) this.#gathered();
      },
    );
    noteRevision(request, revision);
    return result as Result;
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      await this.#gather();
      const together = this.#waiting.splice(0, TOGETHER_MAX);
      try {
        await this.#runTogether(together);
      } catch (error) {
        await this.#afterFailure(together, error);
      }
      this.#expected = Math.min(TOGETHER_MAX, together.length + this.#waiting.length);
    }
    this.#isRunning = false;
  }

  /**
   * Waits for those who were served last to come again: programs that write send the next request
   * once they are answered. Without it, halves of them take turns for good, in transactions half
   * as large. Whoever writes alone waits for nobody.
   */
  async #gather(): Promise<void> {
    // Requests that came with the first are read now.
    await nextTurn();
    if (this.#waiting.length >= this.#expected) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, GATHER_MS);
    this.#gathered = resolve;
    await promise;
    clearTimeout(timer);
  }

  async #runTogether(together: readonly Waiting[]): Promise<void> {
    const { result: outcomes, revision } = await writeTransaction(
      this.#database,
      async (transaction) => {
        const [first = []] = Map.groupBy(together, (one) => one.work).values();
        const [, found, foreseen] = await Promise.all([
          lockScopes(this.#database, transaction, scopesOf(together)),
          this.#refuseRevoked(together, transaction),
          judge(first, transaction),
        ]);
        const admitted = together.filter((one) => !found.has(one));
        // Judged beside somebody who is refused, they are judged again without.
        let judged = found.size === 0 ? foreseen : null;
        for (const waiting of Map.groupBy(admitted, (one) => one.work).values())
          while (waiting.length > 0) {
            judged ??= await judge(waiting, transaction);
            for (const outcome of await write(waiting, judged, transaction))
              found.set(waiting.shift() as Waiting, outcome);
            judged = null;
          }
        return found;
      },
    );
    for (const waiting of together) {
      const { resolve, reject } = waiting;
      const outcome = outcomes.get(waiting) as Outcome;
      if ('refusal' in outcome) reject(outcome.refusal);
      else resolve({ result: outcome.result, revision });
    }
  }

  /** The outcomes of those who may not write any more. */
  async #refuseRevoked(
    together: readonly Waiting[],
    transaction: Transaction,
  ): Promise<Map<Waiting, Outcome>> {
    const actors = together.map(({ actor }) => actor);
    const refusals = await judgeActors(this.#database, actors, transaction);
    const found = new Map<Waiting, Outcome>();
    for (const [i, waiting] of together.entries()) {
      const refusal = refusals[i] ?? null;
      if (refusal !== null) found.set(waiting, { refusal });
    }
    return found;
  }

  /** Nothing was committed, unless the connection broke: then nobody knows, and nobody retries. */
  async #afterFailure(together: readonly Waiting[], error: unknown): Promise<void> {
    if (isDatabaseAway(error))
      for (const { reject } of [...together, ...this.#tired()]) reject(error);
    else for (const waiting of together) await this.#runAlone(waiting);
  }

  /**
   * Takes out those who waited long already. They would find the same, as slowly (a lock that
   * another process holds takes seconds to give up), lose their connection before the answer, and
   * be written after all once nobody listens.
   */
  #tired(): Waiting[] {
    const latestMs = Date.now() - this.#patienceMs;
    const tired = this.#waiting.filter(({ sinceMs }) => sinceMs <= latestMs);
    this.#waiting = this.#waiting.filter(({ sinceMs }) => sinceMs > latestMs);
    return tired;
  }

  async #runAlone(waiting: Waiting): Promise<void> {
    for (let run = 1; ; run += 1) {
      try {
        return await this.#runTogether([waiting]);
      } catch (error) {
        if (run === RUNS_MAX || !wasOvertaken(error)) return waiting.reject(error);
      }
    }
  }
}

/** What saving needs of a row. */
interface Savable {
  set(values: object): unknown;
  changed(): boolean | string[];
  save(options: { transaction: Transaction; validate: false }): Promise<unknown>;
}

/** Sets values of a row and saves what really changed; nothing is written when nothing did. */
export async function saveChanges<Row extends Savable>(
  row: Row,
  values: object,
  transaction: Transaction,
): Promise<Row> {
  row.set(values);
  if (row.changed() !== false) await row.save({ transaction, validate: false });
  return row;
}

/** Refuses a write whose input has faults. */
export function refuseFaults(faults: Faults): void {
  if (!isFaultless(faults)) throw refusalFor(faults);
}

/** The refusal of an input that has faults. */
export function refusalFor(faults: Faults): ApiError {
  return new ApiError('unprocessable', { faults });
}

/** A single work as one that none can join. */
function alone<Plan, Result>(work: Work<Plan, Result>): JointWork<null, Plan, Result> {
  return {
    scopes: () => work.scopes ?? {},
    async judge(transaction) {
      try {
        return [await work.judge(transaction)];
      } catch (error) {
        if (error instanceof ApiError) return [error];
        throw error;
      }
    },
    write: async (transaction, [plan]) => [await work.write(transaction, plan as Plan)],
  };
}

/** What is judged of works of one kind: a plan or a refusal for each of the first of them. */
type Judged = readonly unknown[];

async function judge(waiting: readonly Waiting[], transaction: Transaction): Promise<Judged> {
  const inputs = waiting.map(({ input }) => input);
  const judged = (await waiting[0]?.work.judge(transaction, inputs)) ?? [];
  if (judged.length === 0) throw new Error('a work was not judged');
  return judged;
}

/** Writes the first of the works that wait, as many as were judged at once. */
async function write(
  waiting: readonly Waiting[],
  judged: Judged,
  transaction: Transaction,
): Promise<Outcome[]> {
  const isPlan = (plan: unknown): boolean => !(plan instanceof ApiError);
  const plans = judged.filter(isPlan);
  const admitted = waiting.slice(0, judged.length).filter((_, i) => isPlan(judged[i]));
  actAs(transaction, ...admitted.map(({ origin }) => origin));
  const written = plans.length === 0 ? [] : await waiting[0]?.work.write(transaction, plans);
  const results = (written ?? []).values();
  return judged.map((plan) =>
    plan instanceof ApiError ? { refusal: plan } : { result: results.next().value },
  );
}

function scopesOf(together: readonly Waiting[]): Scopes {
  const scopes = together.map(({ work, input }) => work.scopes?.(input) ?? {});
  return {
    configuration: scopes.some(({ configuration }) => configuration === true),
    addressPool: scopes.some(({ addressPool }) => addressPool === true),
  };
}

/**
 * True when another writer took a unique value, or removed a record that is referred to, after it
 * was judged: judged again, the work is refused, or finds another value.
 */
function wasOvertaken(error: unknown): boolean {
  const { name } = error as Error;
  return name === 'SequelizeUniqueConstraintError' || name === 'SequelizeForeignKeyConstraintError';
}
