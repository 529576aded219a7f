// What `--version` says beside the version: the last migration, and a hash of the schema and of the
// operations of the API. Two checkouts of one version differ in it as soon as they differ in these.

import { createHash } from 'node:crypto';
import { openApiDocument } from '../api/openapi/document.ts';
import { version } from '../kit/process/version.ts';
import { lastStep, readLatest } from '../../models/index.ts';

const HASH_DIGITS = 12;

/** The line for a person: `1.1.0-dev (schema 0015-gateway-schema, build 1f3a5b7c9d2e)`. */
export function fingerprint(): string {
  const { paths } = openApiDocument('') as { paths: Record<string, object> };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  return `${version} (schema ${lastStep()}, build ${hashOf(readLatest(), operations)})`;
}

/** The hash of a schema and of operations, in whatever order these are listed. */
export function hashOf(schema: string, operations: readonly string[]): string {
  const text = JSON.stringify([schema, operations.toSorted()]);
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_DIGITS);
}
