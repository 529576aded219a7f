// Servers of the API in processes of their own, on databases that are there already.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import type { ExecutionContext } from 'ava';
import type { Place } from '../database/databases.ts';
import type { Answer, Sent } from './requests.ts';
import { sendOverSocket } from './socket.ts';

/** A server in another process. */
export interface ApiServer {
  uri: string;
  token: string;
  send: (method: string, path: string, sent?: Sent) => Promise<Answer>;
}

/** A process that can serve several databases. It ends with this process at the latest. */
export interface ApiProcess {
  pid: number | undefined;
  serve: (place: Place, settings?: Record<string, string>) => Promise<ApiServer>;
  end: () => Promise<void>;
}

/** Starts a process that serves nothing yet; `flags` are Node's. */
export function startProcess(flags: readonly string[] = []): ApiProcess {
  const script = join(import.meta.dirname, 'serve-api.ts');
  const child = spawn(process.execPath, [...flags, script], { stdio: ['pipe', 'pipe', 'inherit'] });
  // It is waited for only while it owes an answer.
  const pipes = [child.stdin, child.stdout] as Socket[];
  child.unref();
  for (const pipe of pipes) pipe.unref();
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let turn: Promise<unknown> = Promise.resolve();
  const ask = async (wish: object): Promise<{ port: number; token: string }> => {
    for (const pipe of pipes) pipe.ref();
    child.stdin.write(`${JSON.stringify(wish)}\n`);
    const { value } = await lines.next();
    for (const pipe of pipes) pipe.unref();
    return JSON.parse(value as string) as { port: number; token: string };
  };
  return {
    pid: child.pid,
    async serve({ url, encryptionKey }, settings = {}) {
      const asked = turn.then(() => ask({ url, key: encryptionKey.toString('base64'), settings }));
      turn = asked;
      const { port, token } = await asked;
      const place = { host: '127.0.0.1', port };
      return {
        uri: `http://127.0.0.1:${port}`,
        token,
        send: (method, path, sent = {}) => sendOverSocket(place, method, path, { token, ...sent }),
      };
    },
    async end() {
      child.ref();
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

/** Starts a process that serves one database; it ends with the test. */
export async function startApi(
  t: ExecutionContext,
  place: Place,
  settings: Record<string, string> = {},
  flags: readonly string[] = [],
): Promise<ApiServer & { pid: number | undefined }> {
  const started = startProcess(flags);
  t.teardown(started.end);
  return { pid: started.pid, ...(await started.serve(place, settings)) };
}
