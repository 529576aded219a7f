// HTTPS without a proxy: certificate and key from HTTP_TLS_CERT and HTTP_TLS_KEY, read at the start
// and again when the files change, so that whoever renews them need not tell anybody. Files that
// are no good leave in force what was, and are looked at again when they change.

import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext, Server as TlsServer } from 'node:tls';
import type { Config } from '../../config/index.ts';
import { type Log, messageOf } from '../process/log.ts';

/** A certificate with its chain, and the key of it, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** The last moment of the certificate itself. */
  readonly validUntil: Date;
}

type Paths = Pick<Config, 'httpTlsCert' | 'httpTlsKey'>;

/** How often the files are looked at. */
const LOOK_MS = 5_000;

/** Reads the files; null where none are named. Throws with the setting that is at fault. */
export function readCertificate({ httpTlsCert, httpTlsKey }: Paths): Certificate | null {
  if (httpTlsCert === null || httpTlsKey === null) return null;
  const cert = readPem('HTTP_TLS_CERT', httpTlsCert);
  const key = readPem('HTTP_TLS_KEY', httpTlsKey);
  try {
    const leaf = new X509Certificate(cert);
    createSecureContext({ cert, key });
    return { cert, key, validUntil: new Date(leaf.validTo) };
  } catch (error) {
    throw new Error(
      `HTTP_TLS_CERT (${httpTlsCert}) and HTTP_TLS_KEY (${httpTlsKey}) are no certificate and its key in PEM: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

function readPem(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(
      `${name} names ${path}, which cannot be read (${messageOf(error)}); give the user that runs Postern the right to read it`,
      { cause: error },
    );
  }
}

/** Files that are followed. */
export interface Following {
  /** Reads them, changed or not. */
  readonly read: () => void;
  readonly stop: () => void;
}

/** Follows the files of a listener that speaks TLS; for any other there is nothing to do. */
export function followCertificate(
  paths: Paths,
  listener: object,
  log: Log,
  lookMs = LOOK_MS,
): Following {
  if (!(listener instanceof TlsServer)) return { read: () => undefined, stop: () => undefined };
  let state = stateOf(paths);
  const read = (): void => {
    state = stateOf(paths);
    try {
      const certificate = readCertificate(paths);
      if (certificate === null) return;
      const { cert, key, validUntil } = certificate;
      listener.setSecureContext({ cert, key });
      log.info({ valid_until: validUntil.toISOString() }, 'the certificate was read again');
    } catch (error) {
      log.warn(
        { fault: messageOf(error) },
        'the certificate could not be read again; the one before serves on',
      );
    }
  };
  const look = (): void => {
    if (stateOf(paths) !== state) read();
  };
  const timer = setInterval(look, lookMs).unref();
  return { read, stop: () => clearInterval(timer) };
}

/** Differs whenever one of the files does; links are followed, since renewing often moves one. */
function stateOf({ httpTlsCert, httpTlsKey }: Paths): string {
  return `${stateOfFile(httpTlsCert ?? '')} ${stateOfFile(httpTlsKey ?? '')}`;
}

/** A folder may be closed to us, or a disk fail: that is a state as well, and told by reading. */
function stateOfFile(path: string): string {
  try {
    const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true });
    return `${dev}.${ino}.${size}.${mtimeNs}`;
  } catch (error) {
    return messageOf(error);
  }
}
