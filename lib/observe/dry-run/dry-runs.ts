// Tries the operation that somebody asks about: finds it, and performs it with rooms whose writes
// are undone. docs/api.md#what-a-write-would-do.

import { PASSWORD_COST_MIN } from '../../auth/passwords.ts';
import type { Validated } from '../../kit/validation/validate.ts';
import type { Operation, Performed } from '../../kit/operations/operation.ts';
import { perform } from '../../kit/operations/perform.ts';
import type { Caller } from '../../kit/process/caller.ts';
import type { Shown } from '../../kit/records/shown.ts';
import { type AskedValues, findAsked } from './asked.ts';
import { type DryRunContext, tryTogether, tryWrite } from './dry-run.ts';
import type { DryRunAnswer, Effect } from './fields.ts';

/** Tries operations. */
export interface TriesOperations {
  /** `query`: the parameters that the operation itself would be sent. */
  try(caller: Caller, asked: Validated<AskedValues>, query: URLSearchParams): Promise<DryRunAnswer>;
}

/** Also tries writes that a door makes with rooms. */
export interface TriesWrites<Rooms> extends TriesOperations {
  /** What writes of records of one kind would do together; each is given rooms of its own. */
  tryAll(writes: readonly ((rooms: Rooms) => Promise<unknown>)[]): Promise<Effect>;
}

/** The dry runs of one server. */
export class DryRuns<Context extends DryRunContext, Rooms> implements TriesWrites<Rooms> {
  readonly #context: Context;
  readonly #triable: readonly Performed<Rooms>[];
  readonly #makeRooms: (context: Context) => Rooms;

  constructor(
    context: Context,
    operations: readonly Operation<Rooms>[],
    makeRooms: (context: Context) => Rooms,
  ) {
    // A password that is not kept is hashed as fast as it can be.
    const services = { ...context.services, passwordCost: PASSWORD_COST_MIN };
    this.#context = { ...context, services };
    this.#triable = operations.filter(isTriable);
    this.#makeRooms = makeRooms;
  }

  async try(
    caller: Caller,
    asked: Validated<AskedValues>,
    query: URLSearchParams,
  ): Promise<DryRunAnswer> {
    const { operation, params } = findAsked(this.#triable, asked);
    const sent = { params, query, body: asked.values.body };
    const { result, effect } = await tryWrite(this.#context, (tried) =>
      perform(operation, this.#makeRooms(tried), caller, sent),
    );
    return { record: result as Shown | null, ...effect };
  }

  tryAll(writes: readonly ((rooms: Rooms) => Promise<unknown>)[]): Promise<Effect> {
    return tryTogether(
      this.#context,
      writes.map((write) => (tried: Context) => write(this.#makeRooms(tried))),
    );
  }
}

function isTriable<Rooms>(operation: Operation<Rooms>): operation is Performed<Rooms> {
  return operation.kind === 'write' && operation.isTriable === true;
}
