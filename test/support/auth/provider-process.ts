// A web server of somebody else's, started on a port of this machine: the processes that
// it forks end with it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { COMPILE_CACHE } from '../gateway/launcher.ts';
import type { Lasting } from '../suite/lasting.ts';

const START_MS = 30_000;

/** How to start one. */
export interface ProviderCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Answers with a status below 500 once the server is ready. */
  readonly readyUrl: string;
  /** Takes what the server prints. */
  readonly logFile: string;
}

/** Makes a folder with these folders in it; it is removed with `t`. */
export function makeFolder(t: Lasting, prefix: string, ...inside: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of inside) mkdirSync(join(folder, name));
  return folder;
}

/** Starts a server and waits until it answers; it ends with `t`, or by `stop`. */
export async function startProvider(
  t: Lasting,
  setup: ProviderCommand,
): Promise<{ stop: () => Promise<void> }> {
  const { command, args, environment, readyUrl, logFile } = setup;
  // A group of its own, so that the forked processes can be ended with it.
  const child = spawn(command, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '', ...COMPILE_CACHE, ...environment },
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${command} is not installed: see test/all.sh`);
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => appendFileSync(logFile, chunk));
  // After the last of the group, whose copies of the pipes close with it: the port is free again then.
  const end = once(child, 'close');
  const stop = async (): Promise<void> => {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
    await end;
  };
  t.teardown(stop);
  const untilMs = performance.now() + START_MS;
  for (;;) {
    const status = await fetch(readyUrl, { redirect: 'manual' }).then(
      (response) => response.status,
      () => 599,
    );
    if (status < 500) return { stop };
    if (performance.now() > untilMs || child.exitCode !== null)
      throw new Error(`${command} does not answer (${status}): ${readFileSync(logFile, 'utf8')}`);
    await sleep(100);
  }
}
