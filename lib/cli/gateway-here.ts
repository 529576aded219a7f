// The gateway that runs on this host, as a command that writes asks it: first which program it is,
// then to perform an operation. The first question changes nothing, so it decides where the write
// goes. The write is sent once: where no answer comes, nobody knows whether it was made.

import { text } from 'node:stream/consumers';
import type { Config } from '../../config/index.ts';
import { type Database, databaseIdentity } from '../../models/index.ts';
import { ApiError, isErrorCode } from '../kit/http/errors.ts';
import { localSocketPath } from '../kit/process/local-socket-path.ts';
import { type Build, buildInWords, isSameBuild, ownBuild } from '../kit/operations/build.ts';
import {
  ABOUT_GATEWAY,
  type AboutGateway,
  type AddressedRequest,
  type CommandAnswer,
  type CommandRequest,
  PERFORM,
} from '../kit/operations/for-commands.ts';
import { commandLine, LAUNCHER } from '../kit/process/command-line.ts';
import { messageOf } from '../kit/process/message.ts';
import type { Errors } from '../kit/validation/validate.ts';
import { askSocket, type Question } from './ask-socket.ts';
import type { WhereWritten } from './where-written.ts';

/** How long an answer is waited for. */
export interface Patience {
  readonly aboutMs: number;
  /** As long as the gateway leaves a connection open on which nothing happens. */
  readonly performMs: number;
  /** For an urgent write: its person has to know soon that they must look. */
  readonly urgentMs: number;
}

/** How long commands wait. */
export const PATIENCE: Patience = { aboutMs: 5_000, performMs: 120_000, urgentMs: 15_000 };

/** Errors of a connection that was never made: nothing listens, or nothing takes it. */
const NOT_SENT: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ECONNREFUSED', 'EACCES']);
/** The queue of connections is full: a gateway that hangs takes none. */
const QUEUE_FULL = 'EAGAIN';

/** Why a gateway did not say what it is, and what to do. */
const UNHEARD = {
  silent: 'does not answer, so nothing was changed. Restart it',
  failing:
    'answers with an error, so nothing was changed. Look at its log and at its database, or restart it',
} as const;

/** Who performs operations for commands. */
export interface PerformsOperations {
  /** Null: the gateway ended before it was sent anything. */
  perform(request: CommandRequest): Promise<CommandAnswer | null>;
}

/** What a command knows when it asks. */
export interface Asking {
  readonly writes: WhereWritten;
  readonly config: Pick<Config, 'dataDir'>;
  /** The database that the command has open. */
  readonly database: Database;
  /** Tests replace them. */
  readonly patience?: Patience;
  readonly own?: Build;
}

/**
 * The gateway that performs the operations of a command; null: the command works on the database.
 * Throws a sentence where the command may do neither.
 */
export async function gatewayHere(asking: Asking): Promise<PerformsOperations | null> {
  const { writes, config, database, patience = PATIENCE, own = ownBuild() } = asking;
  const path = localSocketPath(config);
  const about = await askAbout(path, patience);
  if (about === null) return null;
  if (about === 'silent' || about === 'failing') {
    if (writes !== 'gateway') return null;
    throw new Error(`the gateway that runs here ${UNHEARD[about]}, then run this again`);
  }
  if (about !== 'unknown' && about.database !== (await databaseIdentity(database))) return null;
  if (about === 'unknown' || !isSameBuild(about, own)) {
    const isUnderstood = about !== 'unknown' && about.schema === own.schema;
    if (writes !== 'gateway' && isUnderstood) return null;
    throw new Error(otherVersion(about, own));
  }
  if (writes === 'database') return null;
  const limitMs = writes === 'urgent' ? patience.urgentMs : patience.performMs;
  return {
    async perform(operation) {
      const { instance, version, schema, commands } = about;
      const gateway = { instance, version, schema, commands };
      return perform(path, { gateway, ...operation }, limitMs);
    },
  };
}

/** What a gateway says of itself; null: none runs, or it is not ours to ask. */
async function askAbout(
  path: string,
  { aboutMs }: Patience,
): Promise<AboutGateway | keyof typeof UNHEARD | 'unknown' | null> {
  try {
    const [status, body] = await send(path, { method: 'GET', path: ABOUT_GATEWAY }, aboutMs);
    if (status >= 500) return 'failing';
    return status === 200 ? (JSON.parse(body) as { data: AboutGateway }).data : 'unknown';
  } catch (error) {
    return NOT_SENT.has((error as NodeJS.ErrnoException).code) ? null : 'silent';
  }
}

async function perform(
  path: string,
  asked: AddressedRequest,
  limitMs: number,
): Promise<CommandAnswer | null> {
  let answered: [status: number, body: string];
  try {
    answered = await send(path, { method: 'POST', path: PERFORM, body: asked }, limitMs);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (NOT_SENT.has(code)) return null;
    if (code === QUEUE_FULL)
      throw new Error('the gateway takes no connections at present, so nothing was changed', {
        cause: error,
      });
    const isOver = (error as Error).name === 'TimeoutError';
    const why = isOver ? ` within ${limitMs / 1_000} seconds` : `: ${messageOf(error)}`;
    throw unknownOutcome(`the gateway did not answer${why}`, isOver ? RESTART : '');
  }
  const [status, body] = answered;
  if (status !== 200) throw refusal(status, body);
  const { data } = jsonOf<{ data?: CommandAnswer | null }>(body);
  // Null would say that nothing was sent, and the command would write as well.
  if (data == null) throw unknownOutcome('the gateway answered what nobody can read');
  return data;
}

/** What an answer holds; nothing where it is no JSON. */
function jsonOf<Answer extends object>(body: string): Partial<Answer> {
  try {
    return (JSON.parse(body) as Answer | null) ?? {};
  } catch {
    return {};
  }
}

/** What a gateway says of a write that it does not make. */
interface Refusal {
  readonly code?: string;
  readonly error_codes?: Errors;
  readonly detail?: string;
  readonly request_id?: string;
}

function refusal(status: number, body: string): Error {
  // What is no JSON has no words for people.
  const { code = '', error_codes: errors, detail, request_id: id } = jsonOf<Refusal>(body);
  // The gateway that said what it is answers everything else.
  if (code === 'forbidden')
    return new Error(
      'the gateway was restarted at this moment, so nothing was changed; run this again',
    );
  if (code === 'schema_newer')
    return new Error(
      'a later version migrated the database, so nothing was changed; upgrade the gateway that runs here',
    );
  // The gateway's database refuses to write.
  if (code === 'service_unavailable' && detail !== undefined)
    return new Error(`nothing was changed: ${detail}`);
  if (status < 500 && isErrorCode(code))
    return new ApiError(code, {
      ...(errors === undefined ? {} : { errors }),
      ...(detail === undefined ? {} : { sentence: detail }),
    });
  const where = id === undefined ? '' : `; its log says why at request_id ${id}`;
  const word = code === '' ? '' : ` ${code.replaceAll('_', ' ')}`;
  return unknownOutcome(`the gateway answered with ${status}${word}${where}`);
}

/** A gateway that hangs would not answer the next command either. */
const RESTART = '. If it was not made, restart the gateway first';

/** What is said where a write was sent, and whether it was made is not known. */
function unknownOutcome(what: string, advice = ''): Error {
  const look = commandLine('audit list --limit 5');
  return new Error(
    `${what}. Whether the change was made is not known: before you try again, look at ${look}${advice}`,
  );
}

function otherVersion(about: AboutGateway | 'unknown', own: Build): string {
  const theirs = about === 'unknown' ? 'an earlier version' : buildInWords(about);
  const said =
    `the gateway that runs here is ${theirs}, and this command is ${buildInWords(own)}, ` +
    'so nothing was changed. ';
  if (about === 'unknown' || about.program === LAUNCHER)
    return `${said}The program was replaced since the gateway started: restart the gateway`;
  return `${said}Use the program of the gateway, ${about.program}, or restart the gateway as this version`;
}

/** Sends a request, and reads the whole answer, in limited time. */
async function send(
  socketPath: string,
  question: Question,
  limitMs: number,
): Promise<[status: number, body: string]> {
  const signal = AbortSignal.timeout(limitMs);
  try {
    const response = await askSocket(socketPath, question, signal);
    return [response.statusCode ?? 0, await text(response)];
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}
