// Runs the writes of API and console. A write that arrives while another one runs must wait anyway
// (SQLite has one writer; writes of MySQL need the same locks). So such writes wait together and
// share one transaction: one begin, one set of locks, one revision, one commit to the disk. A
// request whose sender may no longer write is refused (actors.ts); this is read together with the
// locks and the first works' rows, because the database may be far away. Each work checks before it
// writes, so a refused work leaves nothing behind. If a write fails, all is rolled back and each
// work runs again alone. No request is answered before the commit.

import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  actAs,
  type Database,
  isDatabaseAway,
  lockScopes,
  pauseBefore,
  type Revision,
  type Scopes,
  type Transaction,
  writeTransaction,
} from '../../../models/index.ts';
import { checkActors } from './actors.ts';
import { ApiError } from '../http/errors.ts';
import { type Errors, hasNoErrors } from '../validation/validate.ts';
import type { Caller } from '../process/caller.ts';

/** The most works that share a transaction; it limits how long others wait. */
const TOGETHER_MAX = 32;
/** The longest time that a transaction waits for writes that will probably come. */
const GATHER_MS = 8;
/** A write that has waited longer is given up if the write before it finds the database away. */
const PATIENCE_MS = 5_000;
/**
 * How often a work runs if other writers change what it checked before it writes. Gateways on the
 * nodes of a cluster do not see each other's locks and choose the same free address: one creation
 * in four meets another one there, again and again.
 */
const RUNS_MAX = 15;

/** One write of one request. It may run several times and must have no effect but its writes. */
export interface Work<Plan, Result> {
  /** What must not change between checking and writing; `check` locks the rows. */
  readonly scopes?: Pick<Scopes, 'configuration' | 'addressPool'>;
  /** Loads and checks; throws an ApiError to refuse. Never writes. */
  check(transaction: Transaction): Promise<Plan>;
  /** Writes what was checked. Whatever it throws undoes the whole transaction. */
  write(transaction: Transaction, plan: Plan): Promise<Result>;
}

/** Works of one kind, which one transaction checks and writes together. */
export interface JointWork<Input, Plan, Result> {
  /** What must not change between checking and writing; `check` locks the rows. */
  scopes?(input: Input): Pick<Scopes, 'configuration' | 'addressPool'>;
  /**
   * Loads, and checks one or more of the first inputs, each as if those before it were written.
   * Returns a plan for each, or an ApiError to refuse it. Never writes.
   */
  check(transaction: Transaction, inputs: readonly Input[]): Promise<readonly (Plan | ApiError)[]>;
  /** Writes what was checked. Returns a result for each plan, and makes no other rows. */
  write(transaction: Transaction, plans: readonly Plan[]): Promise<readonly Result[]>;
}

/** The outcome of a work, after the commit. */
type Outcome = { readonly result: unknown } | { readonly refusal: ApiError };

interface Waiting {
  readonly work: JointWork<unknown, unknown, unknown>;
  readonly input: unknown;
  /** Who writes; the token or session is checked again before the write. */
  readonly caller: Caller;
  readonly sinceMs: number;
  readonly resolve: (written: { result: unknown; revision: Revision }) => void;
  readonly reject: (error: unknown) => void;
}

/** What runs writes: for good, or to see what they would come to. */
export type RunsWrites = Pick<Writes, 'run' | 'join'>;

/** Runs the writes of one server. */
export class Writes {
  readonly #database: Database;
  #waiting: Waiting[] = [];
  #isRunning = false;
  /** How many writes the next transaction waits for, and what is called when they have come. */
  #expected = 0;
  #gathered: () => void = () => undefined;
  readonly #patienceMs: number;

  constructor(database: Database, patienceMs = PATIENCE_MS) {
    this.#database = database;
    this.#patienceMs = patienceMs;
  }

  /** Runs a write for a caller, and notes the revision that covers it. */
  run<Plan, Result>(caller: Caller, work: Work<Plan, Result>): Promise<Result> {
    return this.join(caller, alone(work), null);
  }

  /** Runs a write of a kind whose inputs are checked and written together if they wait together. */
  async join<Input, Plan, Result>(
    caller: Caller,
    work: JointWork<Input, Plan, Result>,
    input: Input,
  ): Promise<Result> {
    const { result, revision } = await new Promise<{ result: unknown; revision: Revision }>(
      (resolve, reject) => {
        const joint = work as JointWork<unknown, unknown, unknown>;
        const sinceMs = performance.now();
        this.#waiting.push({ work: joint, input, caller, sinceMs, resolve, reject });
        if (!this.#isRunning) void this.#runAll();
        else if (this.#waiting.length >= this.#expected) this.#gathered();
      },
    );
    caller.revision = revision;
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
   * Waits until the programs of the last transaction have sent their next request, which they do
   * when they are answered. Without this wait, the programs would split into two halves that take
   * turns for ever, in transactions of half the size. A single program need not wait.
   */
  async #gather(): Promise<void> {
    // The server reads other requests of this moment now.
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
          checkFirst(first, transaction),
        ]);
        const admitted = together.filter((one) => !found.has(one));
        // If a caller is refused, the first checks included their write and must be repeated.
        let checked = found.size === 0 ? foreseen : null;
        for (const waiting of Map.groupBy(admitted, (one) => one.work).values())
          while (waiting.length > 0) {
            checked ??= await checkFirst(waiting, transaction);
            for (const outcome of await write(waiting, checked, transaction))
              found.set(waiting.shift() as Waiting, outcome);
            checked = null;
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

  /** The refusals of requests whose sender may no longer write. */
  async #refuseRevoked(
    together: readonly Waiting[],
    transaction: Transaction,
  ): Promise<Map<Waiting, Outcome>> {
    const actors = together.map(({ caller }) => caller.letIn);
    const refusals = await checkActors(this.#database, actors, transaction);
    const found = new Map<Waiting, Outcome>();
    for (const [i, waiting] of together.entries()) {
      const refusal = refusals[i] ?? null;
      if (refusal !== null) found.set(waiting, { refusal });
    }
    return found;
  }

  /** Runs each work again alone, except if the connection broke: then it may be committed. */
  async #afterFailure(together: readonly Waiting[], error: unknown): Promise<void> {
    if (isDatabaseAway(error))
      for (const { reject } of [...together, ...this.#tired()]) reject(error);
    else for (const waiting of together) await this.#runAlone(waiting);
  }

  /**
   * Removes the writes that have waited for long, and returns them. They would probably fail as
   * slowly (waiting for a lock of another process takes seconds). Their clients would be gone, and
   * they could still be written later.
   */
  #tired(): Waiting[] {
    const latestMs = performance.now() - this.#patienceMs;
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
        await pauseBefore(run);
      }
    }
  }
}

/** What saving needs from a row. */
interface Savable {
  set(values: object): unknown;
  changed(): boolean | string[];
  save(options: { transaction: Transaction; validate: false }): Promise<unknown>;
}

/** Sets values of a row and saves those that changed; writes nothing if none changed. */
export async function saveChanges<Row extends Savable>(
  row: Row,
  values: object,
  transaction: Transaction,
): Promise<Row> {
  row.set(values);
  if (row.changed() !== false) await row.save({ transaction, validate: false });
  return row;
}

/** Refuses a write whose input has errors. */
export function refuseErrors(errors: Errors): void {
  if (!hasNoErrors(errors)) throw refusalFor(errors);
}

/** The refusal of an input that has errors. */
export function refusalFor(errors: Errors): ApiError {
  return new ApiError('unprocessable', { errors });
}

/** A single work as a JointWork that is never shared. */
export function alone<Plan, Result>(work: Work<Plan, Result>): JointWork<null, Plan, Result> {
  return {
    scopes: () => work.scopes ?? {},
    async check(transaction) {
      try {
        return [await work.check(transaction)];
      } catch (error) {
        if (error instanceof ApiError) return [error];
        throw error;
      }
    },
    write: async (transaction, [plan]) => [await work.write(transaction, plan as Plan)],
  };
}

/** The result of checking the first works of one kind: a plan or a refusal for each. */
type Checked = readonly unknown[];

async function checkFirst(waiting: readonly Waiting[], transaction: Transaction): Promise<Checked> {
  const inputs = waiting.map(({ input }) => input);
  const checked = (await waiting[0]?.work.check(transaction, inputs)) ?? [];
  if (checked.length === 0) throw new Error('a work was not checked');
  return checked;
}

/** Writes the first of the waiting works, as many as were checked together. */
async function write(
  waiting: readonly Waiting[],
  checked: Checked,
  transaction: Transaction,
): Promise<Outcome[]> {
  const isPlan = (plan: unknown): boolean => !(plan instanceof ApiError);
  const plans = checked.filter(isPlan);
  const admitted = waiting.slice(0, checked.length).filter((_, i) => isPlan(checked[i]));
  actAs(transaction, ...admitted.map(({ caller }) => caller.origin));
  const written = plans.length === 0 ? [] : await waiting[0]?.work.write(transaction, plans);
  const results = (written ?? []).values();
  return checked.map((plan) =>
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
 * True if, after a work was checked, another writer took a unique value or removed a record that
 * the work refers to. Checked again, the work is refused or finds another value.
 */
function wasOvertaken(error: unknown): boolean {
  const { name } = error as Error;
  return name === 'SequelizeUniqueConstraintError' || name === 'SequelizeForeignKeyConstraintError';
}
