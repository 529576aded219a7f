// A crowd at the API of a gateway, by a process that gives way to all others (request-flood.ts),
// and how long somebody with a good token waits for answers beside it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayProcess } from '../gateway/gateway-process.ts';

const FLOOD = resolve(import.meta.dirname, 'request-flood.ts');

/** What came of a flood. */
export interface Flooded {
  readonly statuses: Readonly<Record<string, number>>;
  /** How many connections the gateway ended. */
  readonly ended: number;
  readonly seconds: number;
}

/** What everybody in the crowd asks. */
export interface Asked {
  readonly connections: number;
  /** How many answers there are to be; left out: as many as come until the end. */
  readonly requests?: number;
  /** `GET` if it is left out. */
  readonly method?: string;
  readonly path: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

/** Begins a flood; `end` stops one that has no end. */
export function flood(
  { url }: Pick<GatewayProcess, 'url'>,
  asked: Asked,
): { readonly result: Promise<Flooded>; readonly end: () => void } {
  const { connections, requests = Number.MAX_SAFE_INTEGER, headers = [], body } = asked;
  const line = `${asked.method ?? 'GET'} ${asked.path}`;
  const words = [FLOOD, new URL(url).port, String(connections), String(requests), line, ...headers];
  if (body !== undefined) words.push('--', body);
  const child = spawn('nice', ['-n', '19', process.execPath, ...words], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const result = once(child, 'close').then(() => JSON.parse(printed) as Flooded);
  return { result, end: () => void child.stdin.end() };
}

/** The 99th percentile of what reads of a good token take, one after the other, in ms. */
export async function slowReads(gateway: GatewayProcess, forMs: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  const endMs = performance.now() + forMs;
  while (performance.now() < endMs) {
    const began = performance.now();
    const status = await new Promise<number>((done, fail) => {
      const headers = { authorization: `Bearer ${gateway.token}` };
      const asked = request(`${gateway.url}/v0/users`, { agent, headers }, (answer) => {
        answer.resume().once('end', () => done(answer.statusCode ?? 0));
      });
      asked.once('error', fail).end();
    });
    if (status !== 200) throw new Error(`a good token got ${status}`);
    times.push(performance.now() - began);
    await sleep(2);
  }
  agent.destroy();
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;
}
