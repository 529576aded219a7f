// Servers of the API as processes of their own, on a database that is there already.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import type { ExecutionContext } from 'ava';
import type { Place } from '../database/databases.ts';
import type { Answer, Sent } from './requests.ts';
import { sendOverSocket } from './socket.ts';

/** A process that serves. */
export interface ApiProcess {
  pid: number | undefined;
  uri: string;
  token: string;
  send: (method: string, path: string, sent?: Sent) => Promise<Answer>;
}

/** Starts a process; it ends with the test. `flags` are Node's. */
export async function startApi(
  t: ExecutionContext,
  { url, encryptionKey }: Place,
  settings: Record<string, string> = {},
  flags: readonly string[] = [],
): Promise<ApiProcess> {
  const script = join(import.meta.dirname, 'serve-api.ts');
  const values = [url, encryptionKey.toString('base64'), JSON.stringify(settings)];
  const child = spawn(process.execPath, [...flags, script, ...values], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(async () => {
    child.stdin.end();
    if (child.exitCode === null) await once(child, 'exit');
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { port, token } = JSON.parse(line) as { port: number; token: string };
  const place = { host: '127.0.0.1', port };
  return {
    pid: child.pid,
    uri: `http://127.0.0.1:${port}`,
    token,
    send: (method, path, sent = {}) => sendOverSocket(place, method, path, { token, ...sent }),
  };
}
