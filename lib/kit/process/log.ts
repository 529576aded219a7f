// The log: pino's JSON lines, or one readable line each on a terminal. UTC, to standard output.
// Keys, tokens and passwords are never handed to it; addresses and names of people never above
// debug, but addresses of flows where FLOW_LOG asks for them.

import process from 'node:process';
import { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import type { Config } from '../../../config/index.ts';
import { describeDatabaseError } from '../../../models/index.ts';
import { sourceFrames } from './source-frames.ts';

/** A log of one room; pino's methods, of which Postern uses these. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * Makes the log of a process: on standard output where the process serves, on standard error where
 * standard output is for the answer of a command.
 */
export function createLog(
  config: Pick<Config, 'logFormat' | 'logLevel'>,
  out: NodeJS.WriteStream & { fd: number } = process.stdout,
): Logger {
  const format = config.logFormat ?? (out.isTTY ? 'text' : 'json');
  const options = {
    level: config.logLevel,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    // An error that is logged directly says no more either.
    serializers: {
      err: (error: unknown) => (error instanceof Error ? describeError(error) : error),
    },
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return format === 'json'
    ? pino(options, pino.destination(out.fd))
    : pino(options, textStream(out));
}

function ignore(): void {}

/** What may be logged of an error. */
export interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  /** Verb and table, of an error of the database. */
  readonly statement?: string | null;
  readonly stack: string;
}

/**
 * Describes an error, with those that caused it, for the log: errors of the database carry
 * statements, values and messages that quote them, so of those only names, codes, what is not
 * quoted, the verb and the table of the statement, and the places in the code.
 */
export function describeError(error: unknown): LoggedError | { readonly type: string } {
  return error instanceof Error ? describe(error) : { type: typeof error };
}

function describe(error: Error): LoggedError {
  const described = describeDatabaseError(error);
  const { name, cause } = error;
  const { code } = error as NodeJS.ErrnoException;
  const message = described?.message ?? error.message;
  const statement = described?.statement ?? null;
  const lines = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
  const frames = sourceFrames(lines.join('\n')).split('\n');
  const first = `${name}: ${message}${statement === null ? '' : ` (${statement})`}`;
  const causes = cause instanceof Error ? [`caused by ${describe(cause).stack}`] : [];
  return {
    type: name,
    ...(typeof code === 'string' ? { code } : {}),
    ...described,
    message,
    stack: [first, ...frames, ...causes].join('\n'),
  };
}

/** Turns JSON lines into `time level message field=value`. */
export function textStream(out: NodeJS.WritableStream): Writable {
  // Whoever reads the log may go away: no reason to stop serving, and nobody would read of it.
  if (!out.listeners('error').includes(ignore)) out.on('error', ignore);
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().split('\n')) {
        if (line !== '') out.write(`${readable(line)}\n`);
      }
      done();
    },
  });
}

function readable(line: string): string {
  const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${loggedText(name, value)}`);
  return `${String(time)} ${String(level).padEnd(5)} ${String(msg)}${rest.join('')}`;
}

function loggedText(name: string, value: unknown): string {
  if (name === 'err' && typeof value === 'object' && value !== null && 'stack' in value)
    return `\n${String(value.stack)}`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
