// Asks the gateway on this machine whether it serves, by the settings that it has. A health check
// runs this, so it loads no more than it needs.

import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Config } from '../../../config/index.ts';
import { request as requestHttp } from './node-http.ts';

const TIMEOUT_MS = 4_000;

/** Where the gateway with these settings is asked on its own machine. */
export function localUrl(config: Pick<Config, 'httpHost' | 'httpPort' | 'httpTlsCert'>): URL {
  const { httpHost, httpPort, httpTlsCert } = config;
  const scheme = httpTlsCert === null ? 'http' : 'https';
  const any: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const host = any[httpHost] ?? httpHost;
  return new URL(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${httpPort}/readyz`);
}

/** What a gateway answers there; rejects where nobody does. */
export async function askReadiness(url: URL): Promise<{ status: number; body: string }> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { timeout: TIMEOUT_MS, agent: false };
    const request =
      url.protocol === 'http:'
        ? requestHttp(url, options, resolve)
        : // Only this machine is asked, under an address that no certificate names.
          requestHttps(url, { ...options, rejectUnauthorized: false }, resolve);
    request.on('error', reject);
    request.on('timeout', () => request.destroy(new Error('no answer in time')));
    request.end();
  });
  return { status: answer.statusCode ?? 0, body: await text(answer) };
}
