// A server at the socket for commands of the same host, in a data folder of its own.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { Config } from '../../../config/index.ts';
import { parseCommandLine } from '../../../lib/cli/cli.ts';
import { outcomeOfLive } from '../../../lib/cli/live-commands.ts';
import type { Outcome } from '../../../lib/cli/run.ts';
import { openLocalSocket } from '../../../lib/kit/http/local-socket.ts';
import { localSocketPath } from '../../../lib/kit/process/local-socket-path.ts';
import type { Services } from '../../../lib/services.ts';
import { configOf, openServer, type TestServer } from './server.ts';

/** A server that commands can ask. */
export interface LocalServer extends TestServer {
  /** With the data folder of the socket. */
  readonly config: Config;
  /** The file of the socket. */
  readonly path: string;
  readonly close: (drainMs?: number) => Promise<void>;
  /** Runs a command that asks the gateway; null: it is another one. */
  readonly run: (...words: string[]) => Promise<Outcome | null>;
  /** What commands that go on have said. */
  readonly said: Outcome[];
  /** Called between two looks of a command that goes on; the last one ends it. */
  readonly pauses: (() => Promise<void>)[];
}

/** A folder that exists until the test ends. */
export function newDataDir(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'postern-socket-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Opens a server and its socket. */
export async function openLocally(
  t: ExecutionContext,
  { dataDir = newDataDir(t), ...services }: Partial<Services> & { readonly dataDir?: string } = {},
): Promise<LocalServer> {
  const opened = await openServer(t, 'sqlite', {}, services);
  await opened.server.initialize();
  const config = configOf({ DATA_DIR: dataDir });
  const path = localSocketPath(config);
  const { log, counters, httpLimits = {} } = opened.services;
  const socket = { log, counters, path, httpLimits, server: opened.server.listener };
  const close = await openLocalSocket(socket);
  t.teardown(close);
  const said: Outcome[] = [];
  const pauses: (() => Promise<void>)[] = [];
  const run = async (...words: string[]): Promise<Outcome | null> => {
    const parsed = await parseCommandLine(words);
    if (!('command' in parsed)) throw new Error(`not understood: ${words.join(' ')}`);
    const pause = async (): Promise<boolean> => {
      const next = pauses.shift();
      await next?.();
      return next !== undefined;
    };
    return outcomeOfLive(parsed.command, config, (one) => said.push(one), pause);
  };
  return { ...opened, config, path, close, run, said, pauses };
}
