// What `--version` says beside the version: the last migration, and a hash of the schema and of the
// operations of the API. Two checkouts of one version differ in it as soon as they differ in these.
// Then what decides whether a published fault of Node, SQLite or OpenSSL concerns this gateway.

import process from 'node:process';
import { openApiDocument } from '../api/openapi/document.ts';
import { hashOfLines } from '../kit/operations/build.ts';
import { version } from '../kit/process/version.ts';
import { lastStep, readLatest } from '../../models/index.ts';

/**
 * Two lines for a person: `1.1.0-dev (schema 0015-gateway-schema, build 1f3a5b7c9d2e)`, and what
 * runs it.
 */
export function fingerprint(): string {
  const { paths } = openApiDocument('') as { paths: Record<string, object> };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  const build = hashOfLines(readLatest(), operations);
  return `${version} (schema ${lastStep()}, build ${build})\n${foundation()}`;
}

/** What runs the program: `Node 24.21.0, SQLite 3.53.4, OpenSSL 3.5.8`. */
function foundation({ node, sqlite, openssl } = process.versions): string {
  return `Node ${node}, SQLite ${sqlite ?? 'none'}, OpenSSL ${openssl ?? 'none'}`;
}
