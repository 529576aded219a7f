// The files of TLS to the database, read at the start of the gateway and of each command.

import { readFileSync } from 'node:fs';
import type { Config } from '../../../config/index.ts';
import type { DatabaseTls } from '../../../models/index.ts';
import { messageOf } from '../process/message.ts';

/** How TLS to the database is set up; null if it is off. */
export function databaseTls(config: Config): DatabaseTls | null {
  const { databaseTls: mode, databaseTlsCa, databaseTlsCert, databaseTlsKey } = config;
  if (mode === 'off') return null;
  return {
    verifies: mode === 'verify',
    ca: readPem('DATABASE_TLS_CA', databaseTlsCa),
    cert: readPem('DATABASE_TLS_CERT', databaseTlsCert),
    key: readPem('DATABASE_TLS_KEY', databaseTlsKey),
  };
}

function readPem(setting: string, path: string | null): string | null {
  if (path === null) return null;
  let pem: string;
  try {
    pem = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${setting} names ${path}, which cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (!pem.includes('-----BEGIN '))
    throw new Error(`${setting} names ${path}, which is not a PEM file`);
  return pem;
}
