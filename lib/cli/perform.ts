// Performs operations for commands, in this process, and makes sentences of errors.

import { COMMAND_LINE } from '../../models/index.ts';
import { ApiError } from '../kit/http/errors.ts';
import type { Faults } from '../kit/validation/judge.ts';
import type { OperationName } from '../kit/operations/places.ts';
import type { Caller } from '../kit/process/caller.ts';
import { commandLine } from '../kit/process/command-line.ts';
import { refuseFaults } from '../kit/records/writes.ts';
import { refusalOf } from './fault-words.ts';
import { findsIn } from './finds.ts';
import type { Done, RefusalWords, Row, Sending } from './row.ts';
import type { Given, Run } from './run.ts';

/** The caller of a command: somebody who may open the database of the gateway. */
export function commandLineCaller(): Caller {
  return { origin: COMMAND_LINE, letIn: null, userId: null, seesSecrets: true, revision: null };
}

/** The result of an operation. */
export type Performed = Pick<Done, 'answer' | 'failing' | 'params'>;

/** Performs an operation on behalf of the command line; throws what refuses it as a sentence. */
export async function performHere(
  { rooms }: Pick<Given, 'rooms'>,
  name: OperationName,
  { params = {}, body, force = false, ...sent }: Sending,
  words: RefusalWords | ((faults: Faults) => Error) = {},
): Promise<Performed> {
  const operation = (await (await rooms()).room(name))(name);
  const caller = commandLineCaller();
  const query = new URLSearchParams(force ? { force: 'true' } : {});
  try {
    if (typeof params === 'function') refuseFaults(operation.faultsOf(body));
    const named = typeof params === 'function' ? await params() : params;
    const answer = await operation.perform(caller, { params: named, query, body });
    const failing = caller.failing ?? 0;
    return { answer: (answer ?? {}) as Done['answer'], failing, params: named };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (typeof words !== 'function') throw inWords(error, sent, words);
    throw error.faults === null ? inWords(error, sent, {}) : words(error.faults);
  }
}

/** A refusal, with the way out where policy tests hold the write up. */
function inWords(
  { code, faults, sentence }: ApiError,
  { named = '', called = {} }: Sending,
  { hints = {}, forced, absent = goneMeanwhile }: RefusalWords,
): Error {
  if (faults === null)
    return code === 'not_found' ? absent(named) : new Error(sentence ?? code.replaceAll('_', ' '));
  const said = Object.entries(faults).map(([field, errors]) => [called[field] ?? field, errors]);
  const isHeldUp = forced !== undefined && faults['base'] !== undefined;
  const wayOut = isHeldUp ? `; with --force ${forced} anyway` : '';
  return refusalOf(Object.fromEntries(said) as typeof faults, hints, wayOut);
}

/** It was there when the command looked for it. */
function goneMeanwhile(): Error {
  return new Error(`somebody removed it meanwhile; see: ${commandLine('help')}`);
}

/** The command of a row. */
export function performs(row: Row): Run {
  return async (given, command) => {
    const sent = await row.sends(command, findsIn(given.database));
    const { force } = command.options;
    const done = await performHere(given, row.operation, { force, ...sent }, row);
    return row.says({ ...done, sent, command, given });
  };
}
