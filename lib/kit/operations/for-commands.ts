// How an operation is performed for a command, in the process of the command or in the gateway that
// it asks: both call `performForCommand` with the same plain data.

import { refuseErrors } from '../records/writes.ts';
import type { Caller } from '../process/caller.ts';
import type { Shown } from '../records/shown.ts';
import type { Build } from './build.ts';
import type { Writing } from './operation.ts';
import { perform, validatedBody } from './perform.ts';
import type { OperationName } from './places.ts';

/** What a command asks for. */
export interface CommandRequest {
  readonly operation: OperationName;
  /** The parts of the path by their names. Null: what was named does not exist. */
  readonly params: Readonly<Record<string, string>> | null;
  /** Whether the body is validated before the database is asked. Always so without `params`. */
  readonly validatesFirst: boolean;
  /** Whether it is written although policy tests fail then. */
  readonly force: boolean;
  /** With its wrapper. */
  readonly body?: object;
}

/** Where a gateway says which program it is, and where it performs an operation. */
export const [ABOUT_GATEWAY, PERFORM] = ['/local/gateway', '/local/operations'];

/** What a gateway says of itself to commands of its host. */
export interface AboutGateway extends Build {
  /** Another one after each start. */
  readonly instance: string;
  /** The path of its program. */
  readonly program: string;
  /** Which database it has open. */
  readonly database: string;
}

/** A request to the very gateway that said what it is. */
export interface AddressedRequest extends CommandRequest {
  readonly gateway: Build & Pick<AboutGateway, 'instance'>;
}

/** What a command gets. */
export interface CommandAnswer {
  /** Null where nothing is left to show. */
  readonly answer: Shown | readonly Shown[] | null;
  /** How many policy tests fail because of the write. */
  readonly failing: number;
}

/** Performs an operation that writes; without `params` it only validates the body. */
export async function performForCommand<Rooms>(
  operation: Writing<Rooms>,
  rooms: Rooms,
  caller: Caller,
  { params, validatesFirst, force, body }: Omit<CommandRequest, 'operation'>,
): Promise<CommandAnswer> {
  if ((params === null || validatesFirst) && operation.body !== undefined)
    refuseErrors(validatedBody(operation.body, body).errors);
  if (params === null) return { answer: null, failing: 0 };
  const query = new URLSearchParams(force ? { force: 'true' } : {});
  const answer = await perform(operation, rooms, caller, { params, query, body });
  return { answer, failing: caller.failing ?? 0 };
}
