// Writes of the API. Those that arrive while another one runs would only wait for it (SQLite has
// one writer; MySQL's meet on the same locks), so they wait together and share one transaction: one
// begin, one set of locks, one revision, one commit to the disk. Each work judges before it writes,
// so a refused one leaves nothing behind and harms no other; if a write fails, everything is rolled
// back and each work runs again alone. Nobody hears anything before the commit.

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
import { originOf } from '../observe/audit.ts';
import { ApiError } from './errors.ts';
import { noteRevision } from './in-force.ts';
import { type Faults, isFaultless } from './judge.ts';

/** Works that share a transaction at most; it bounds how long others are kept waiting. */
const TOGETHER_MAX = 32;
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

/** What a work came to, once the transaction is committed. */
type Outcome = { readonly result: unknown } | { readonly refusal: ApiError };

interface Waiting {
  readonly work: Work<unknown, unknown>;
  /** Who writes, for the audit trail. */
  readonly origin: Origin;
  readonly resolve: (written: { result: unknown; revision: Revision }) => void;
  readonly reject: (error: unknown) => void;
}

/** Runs the writes of one server. */
export class Writes {
  readonly #database: Database;
  #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Runs a write for a request, and notes the revision that covers it. */
  async run<Plan, Result>(request: Request, work: Work<Plan, Result>): Promise<Result> {
    const { result, revision } = await new Promise<{ result: unknown; revision: Revision }>(
      (resolve, reject) => {
        const origin = originOf(request);
        this.#waiting.push({ work: work as Work<unknown, unknown>, origin, resolve, reject });
        if (!this.#isRunning) void this.#runAll();
      },
    );
    noteRevision(request, revision);
    return result as Result;
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      // Requests that came with this one are read first, and their writes come along.
      await nextTurn();
      const together = this.#waiting.splice(0, TOGETHER_MAX);
      try {
        await this.#runTogether(together);
      } catch (error) {
        await this.#afterFailure(together, error);
      }
    }
    this.#isRunning = false;
  }

  async #runTogether(together: readonly Waiting[]): Promise<void> {
    const { result: outcomes, revision } = await writeTransaction(
      this.#database,
      async (transaction) => {
        await lockScopes(this.#database, transaction, scopesOf(together));
        const results: Outcome[] = [];
        for (const { work, origin } of together) {
          actAs(transaction, origin);
          results.push(await outcomeOf(work, transaction));
        }
        return results;
      },
    );
    for (const [index, { resolve, reject }] of together.entries()) {
      const outcome = outcomes[index] as Outcome;
      if ('refusal' in outcome) reject(outcome.refusal);
      else resolve({ result: outcome.result, revision });
    }
  }

  /** Nothing was committed, unless the connection broke: then nobody knows, and nobody retries. */
  async #afterFailure(together: readonly Waiting[], error: unknown): Promise<void> {
    if (isDatabaseAway(error)) for (const { reject } of together) reject(error);
    else for (const waiting of together) await this.#runAlone(waiting);
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
  if (!isFaultless(faults)) throw new ApiError('unprocessable', { faults });
}

async function outcomeOf(work: Work<unknown, unknown>, transaction: Transaction): Promise<Outcome> {
  let plan: unknown;
  try {
    plan = await work.judge(transaction);
  } catch (error) {
    if (error instanceof ApiError) return { refusal: error };
    throw error;
  }
  return { result: await work.write(transaction, plan) };
}

function scopesOf(together: readonly Waiting[]): Scopes {
  return {
    configuration: together.some(({ work }) => work.scopes?.configuration === true),
    addressPool: together.some(({ work }) => work.scopes?.addressPool === true),
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
