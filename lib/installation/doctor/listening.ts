// The doctor on HTTP: does a gateway answer, is the port free, is the certificate good.

import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Config } from '../../../config/index.ts';
import { readCertificate } from '../../kit/http/tls.ts';
import { messageOf } from '../../kit/process/message.ts';
import { askReadiness, localUrl } from '../../kit/http/ask-readiness.ts';
import type { Readiness } from '../../observe/gateway-state.ts';
import { failed, type Finding, ok, warning } from './finding.ts';

/** A certificate is renewed before it has so long to go. */
const RENEWAL_MS = 14 * 86_400_000;
const DAY_MS = 86_400_000;

/** What a gateway under these settings answers of itself; null where none does. */
export async function readinessHere(config: Config): Promise<Readiness | null> {
  if (config.httpPort === 0) return null;
  try {
    const { body } = await askReadiness(localUrl(config));
    const answer = JSON.parse(body) as Partial<Readiness>;
    return typeof answer.status === 'string' ? (answer as Readiness) : null;
  } catch {
    return null;
  }
}

/** What is said where a second gateway is started with the settings of one that runs. */
export async function runsAlready(config: Config): Promise<string | null> {
  if ((await readinessHere(config)) === null) return null;
  const where = `${config.httpHost}:${config.httpPort}`;
  return `a gateway already runs with these settings: it answers at ${where}; stop it first, or give this one DATA_DIR, HTTP_PORT, WIREGUARD_PORT and WIREGUARD_INTERFACE of its own`;
}

/** Whether the API can listen. */
export async function httpPort(
  { httpHost, httpPort: port }: Config,
  isRunning: boolean,
): Promise<Finding> {
  const check = 'HTTP port';
  if (isRunning) return ok(check, `a gateway answers at ${httpHost}:${port}`);
  const server = createServer();
  try {
    server.listen(port, httpHost);
    await once(server, 'listening');
    return ok(check, `TCP ${httpHost}:${port} is free`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      return failed(
        check,
        `TCP ${httpHost}:${port} is taken by another process`,
        `stop what uses it (ss -ltnp 'sport = ${port}') or set HTTP_PORT to another`,
      );
    return failed(
      check,
      `TCP ${httpHost}:${port} cannot be listened on: ${message}`,
      code === 'EACCES'
        ? 'set HTTP_PORT to 1024 or more, or give CAP_NET_BIND_SERVICE'
        : 'set HTTP_HOST to an address of this host',
    );
  } finally {
    server.close();
  }
}

/** How long the certificate is good; nothing where there is none. */
export function certificate(config: Config): Finding[] {
  const check = 'certificate';
  try {
    const found = readCertificate(config);
    if (found === null) return [];
    const left = found.validUntil.getTime() - Date.now();
    const until = `until ${found.validUntil.toISOString()}`;
    const fix = 'renew it; the files are read again when they change';
    if (left < 0) return [failed(check, `the certificate was valid ${until}`, fix)];
    if (left < RENEWAL_MS)
      return [
        warning(check, `the certificate is valid for ${Math.floor(left / DAY_MS)} days`, fix),
      ];
    return [ok(check, `the certificate is valid ${until}`)];
  } catch (error) {
    return [failed(check, messageOf(error), 'look at HTTP_TLS_CERT and HTTP_TLS_KEY')];
  }
}
