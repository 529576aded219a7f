// HTTPS without a proxy: certificate and key from HTTP_TLS_CERT and HTTP_TLS_KEY. They are read at
// the start and again when the files change, so a renewed certificate needs no restart. If the new
// files cannot be used, the old certificate stays in force until the files change again.

import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext, Server as TlsServer } from 'node:tls';
import type { Config } from '../../../config/index.ts';
import type { Log } from '../process/log.ts';
import { messageOf } from '../process/message.ts';

/** A certificate with its chain, and the key of it, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** The last moment of the certificate itself. */
  readonly validUntil: Date;
}

type Paths = Pick<Config, 'httpTlsCert' | 'httpTlsKey'>;

/**
 * The suites that a listener speaks: those with forward secrecy that authenticate what they
 * encrypt. Node's own list also has suites of CBC, whose padding has leaked before.
 */
export const CIPHERS = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

/** How often the files are looked at. */
const LOOK_MS = 5_000;

/** Reads the files; null if none are set. Throws an error that names the wrong setting. */
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
      `HTTP_TLS_CERT (${httpTlsCert}) and HTTP_TLS_KEY (${httpTlsKey}) are not a certificate and its key in PEM: ${messageOf(error)}`,
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

/** Watches the files of a certificate. */
export interface Following {
  /** Reads them, even if they have not changed. */
  readonly read: () => void;
  readonly stop: () => void;
}

/** Watches the files of a listener with TLS; does nothing for any other listener. */
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
      // Without the list the suites would be Node's own from here on.
      listener.setSecureContext({ cert, key, ciphers: CIPHERS });
      log.info({ valid_until: validUntil.toISOString() }, 'the certificate was read again');
    } catch (error) {
      log.warn(
        { fault: messageOf(error) },
        'the certificate could not be read again; the one before stays in force',
      );
    }
  };
  const look = (): void => {
    if (stateOf(paths) !== state) read();
  };
  const timer = setInterval(look, lookMs).unref();
  return { read, stop: () => clearInterval(timer) };
}

/** A text that changes when one of the files changes; links are followed. */
function stateOf({ httpTlsCert, httpTlsKey }: Paths): string {
  return `${stateOfFile(httpTlsCert ?? '')} ${stateOfFile(httpTlsKey ?? '')}`;
}

/** If a file cannot be looked at, the message is its state; reading it then reports the error. */
function stateOfFile(path: string): string {
  try {
    const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true });
    return `${dev}.${ino}.${size}.${mtimeNs}`;
  } catch (error) {
    return messageOf(error);
  }
}
