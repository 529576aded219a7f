// What `postern` prints and how it ends, without a process for each command: the steps of
// lib/start/main.ts in the process of a test that judges none.

import { readFileSync } from 'node:fs';
import process from 'node:process';
import { Readable, Writable } from 'node:stream';
import bcrypt from 'bcrypt';
import { parseConfig } from '../../../config/index.ts';
import { PASSWORD_COST_MIN } from '../../../lib/auth/passwords.ts';
import { isAlone, parseCommandLine } from '../../../lib/cli/cli.ts';
import { obey } from '../../../lib/start/obey.ts';
import { obeyAlone } from '../../../lib/start/obey-alone.ts';

/** What a command printed, and its exit code. */
export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Obeys a command that does not serve, with no other settings than these. Nothing else may print
 * meanwhile. The log is text, because pino would write JSON past the streams that are replaced.
 */
export async function obeyedHere(
  line: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  stdin = '',
): Promise<Ended> {
  const parsed = await parseCommandLine(line);
  if (!('command' in parsed))
    throw new Error(`lib/start/main.ts answers "${line.join(' ')}" itself`);
  const { command } = parsed;
  if (command.words === 'serve') throw new Error('a gateway that serves wants a process');
  const output = keepOutput();
  const restoreInput = exchange('stdin', Readable.from([stdin]));
  const restoreCost = hashCheaply();
  try {
    if (isAlone(command.words)) return { status: await obeyAlone(command), ...output.printed };
    const settings = parseConfig({ LOG_FORMAT: 'text', ...environment }, (path) =>
      readFileSync(path, 'utf8'),
    );
    const status = await obey({ command, settings, workers: [] });
    return { status, ...output.printed };
  } finally {
    restoreCost();
    restoreInput();
    output.release();
  }
}

/**
 * From now on this process hashes passwords at the least cost: a command takes no cost from its
 * test. Returns what ends that.
 */
function hashCheaply(): () => void {
  const { hash } = bcrypt;
  bcrypt.hash = (password) => hash(password, PASSWORD_COST_MIN);
  return () => void (bcrypt.hash = hash);
}

/** Keeps what this process would print from now on until it is released. */
export function keepOutput(): { printed: Record<'stdout' | 'stderr', string>; release(): void } {
  const printed = { stdout: '', stderr: '' };
  const ends = (['stdout', 'stderr'] as const).map((name) =>
    exchange(
      name,
      kept((text) => (printed[name] += text)),
    ),
  );
  return {
    printed,
    release: () => {
      for (const end of ends) end();
    },
  };
}

/** Gives this process another stream; returns what takes it away. */
function exchange(name: 'stdin' | 'stdout' | 'stderr', stream: Readable | Writable): () => void {
  const own = Object.getOwnPropertyDescriptor(process, name)!;
  Object.defineProperty(process, name, { configurable: true, enumerable: true, value: stream });
  return () => Object.defineProperty(process, name, own);
}

function kept(keep: (text: string) => void): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      keep(chunk.toString());
      done();
    },
  });
}
