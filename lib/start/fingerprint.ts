// What `--version` says beside the version: the last migration, and a hash of the schema and of the
// operations of the API. Two checkouts of one version differ in it as soon as they differ in these.
// Then what decides whether a published bug of Node, SQLite or OpenSSL concerns this gateway.

import process from 'node:process';
import { version } from '../kit/process/version.ts';
import { BUILD, SCHEMA } from './made-of.ts';

/**
 * Two lines for a person: `1.1.0-dev (schema 0015-gateway-schema, build 1f3a5b7c9d2e)`, and what
 * runs it.
 */
export function fingerprint(): string {
  return `${version} (schema ${SCHEMA}, build ${BUILD})\n${foundation()}`;
}

/** What runs the program: `Node 24.21.0, SQLite 3.53.4, OpenSSL 3.5.8`. */
function foundation({ node, sqlite, openssl } = process.versions): string {
  return `Node ${node}, SQLite ${sqlite ?? 'none'}, OpenSSL ${openssl ?? 'none'}`;
}
