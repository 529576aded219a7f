// Runs a write to see its result: the write is validated and done as every write is, its result is
// read in its transaction, and the write is undone. docs/api.md#what-a-write-would-do.

import {
  actAs,
  type Database,
  lockScopes,
  type Transaction,
  undoneTransaction,
  type WrittenSoFar,
} from '../../../models/index.ts';
import { ApiError } from '../http/errors.ts';
import type { Caller } from '../process/caller.ts';
import { alone, type JointWork, type RunsWrites, type Work } from './writes.ts';

/** Looks at what was written, before it is undone. */
export type Look<Seen> = (transaction: Transaction, written: WrittenSoFar) => Promise<Seen>;

/** Runs writes and undoes them. */
export class UndoneWrites<Seen> implements RunsWrites {
  readonly #database: Database;
  readonly #look: Look<Seen>;
  #seen: Seen | null = null;

  constructor(database: Database, look: Look<Seen>) {
    this.#database = database;
    this.#look = look;
  }

  /** What was seen of the last write; null: none came so far. */
  get seen(): Seen | null {
    return this.#seen;
  }

  run<Plan, Result>(caller: Caller, work: Work<Plan, Result>): Promise<Result> {
    return this.join(caller, alone(work), null);
  }

  async join<Input, Plan, Result>(
    { origin }: Caller,
    work: JointWork<Input, Plan, Result>,
    input: Input,
  ): Promise<Result> {
    return undoneTransaction(this.#database, async (transaction, soFar) => {
      await lockScopes(this.#database, transaction, work.scopes?.(input) ?? {});
      const [plan] = await work.check(transaction, [input]);
      if (plan instanceof ApiError) throw plan;
      actAs(transaction, origin);
      const [result] = await work.write(transaction, [plan as Plan]);
      this.#seen = await this.#look(transaction, soFar());
      return result as Result;
    });
  }
}
