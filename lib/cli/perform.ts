// Performs operations for commands, at the gateway that runs here or in this process, and makes
// sentences of errors.

import { COMMAND_LINE } from '../../models/index.ts';
import { ApiError } from '../kit/http/errors.ts';
import type { Errors } from '../kit/validation/validate.ts';
import type { CommandAnswer, CommandRequest } from '../kit/operations/for-commands.ts';
import type { OperationName } from '../kit/operations/places.ts';
import type { Caller } from '../kit/process/caller.ts';
import { commandLine } from '../kit/process/command-line.ts';
import { refusalOf } from './error-words.ts';
import { findsIn } from './finds.ts';
import type { Done, Params, RefusalWords, Row, Sending } from './row.ts';
import type { Given, Run } from './run.ts';

/** The caller of a command: somebody who may open the database of the gateway. */
export function commandLineCaller(): Caller {
  return { origin: COMMAND_LINE, letIn: null, userId: null, seesSecrets: true, revision: null };
}

/** The result of an operation. */
export type Performed = Pick<Done, 'answer' | 'failing' | 'params'>;

/** Performs an operation on behalf of the command line; throws what refuses it as a sentence. */
export async function performOperation(
  given: Pick<Given, 'gateway' | 'rooms'>,
  operation: OperationName,
  { params = {}, body, force = false, ...sent }: Sending,
  words: RefusalWords | ((errors: Errors) => Error) = {},
): Promise<Performed> {
  const validatesFirst = typeof params === 'function';
  const found = typeof params === 'function' ? await foundOrNot(params) : { params };
  const request = {
    operation,
    params: 'absent' in found ? null : found.params,
    validatesFirst,
    force,
    ...(body === undefined ? {} : { body }),
  };
  try {
    const { answer, failing } = await performThereOrHere(given, request);
    // What the body lacks is said before this.
    if ('absent' in found) throw found.absent;
    return { answer: (answer ?? {}) as Done['answer'], failing, params: found.params };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (typeof words !== 'function') throw refusedInWords(error, sent, words);
    throw error.errors === null ? refusedInWords(error, sent, {}) : words(error.errors);
  }
}

async function foundOrNot(
  find: () => Promise<Params>,
): Promise<{ params: Params } | { absent: unknown }> {
  try {
    return { params: await find() };
  } catch (absent) {
    return { absent };
  }
}

/** Asks the gateway that runs here; a command performs the operation itself where none runs. */
async function performThereOrHere(
  { gateway, rooms }: Pick<Given, 'gateway' | 'rooms'>,
  request: CommandRequest,
): Promise<CommandAnswer> {
  const answer = (await gateway?.perform(request)) ?? null;
  if (answer !== null) return answer;
  const room = await (await rooms()).room(request.operation);
  return room(commandLineCaller(), request);
}

/** A refusal, with the way out where policy tests hold the write up. */
function refusedInWords(
  { code, errors, sentence }: ApiError,
  { named = '', called = {} }: Sending,
  { hints = {}, forced, absent = goneMeanwhile }: RefusalWords,
): Error {
  if (errors === null)
    return code === 'not_found' ? absent(named) : new Error(sentence ?? code.replaceAll('_', ' '));
  const said = Object.entries(errors).map(([field, ofField]) => [called[field] ?? field, ofField]);
  const isHeldUp = forced !== undefined && errors['base'] !== undefined;
  const wayOut = isHeldUp ? `; with --force ${forced} anyway` : '';
  return refusalOf(Object.fromEntries(said) as typeof errors, hints, wayOut);
}

/** The record was there when the command looked for it. */
function goneMeanwhile(): Error {
  return new Error(`somebody removed it meanwhile; see: ${commandLine('help')}`);
}

/** The command of a row. */
export function performs(row: Row): Run {
  return async (given, command) => {
    const sent = await row.sends(command, findsIn(given.database));
    const { force } = command.options;
    const done = await performOperation(given, row.operation, { force, ...sent }, row);
    return row.says({ ...done, sent, command, given });
  };
}
