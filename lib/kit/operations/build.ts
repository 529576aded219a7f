// What a command and the gateway that it asks must have in common: the version, the schema, and the
// operations that commands perform. A command learns it without loading a room of the domain.

import { createHash } from 'node:crypto';
import { lastStep, readLatest } from '../../../models/index.ts';
import { version } from '../process/version.ts';
import { type Place, places } from './places.ts';

const HASH_DIGITS = 12;

/** What tells a program from another one. */
export interface Build {
  readonly version: string;
  /** The last migration that it knows. */
  readonly schema: string;
  /** A hash of the schema and of the operations that commands perform. */
  readonly commands: string;
}

/** The build of this program, as its files are now: a program that runs long asks at its start. */
export function ownBuild(): Build {
  const commands = hashOf(readLatest(), places);
  return { version, schema: lastStep(), commands };
}

/** The hash of a schema and of the operations that commands perform. */
export function hashOf(schema: string, operations: Readonly<Record<string, Place>>): string {
  const listed = Object.entries(operations).map(([id, { method, path }]) =>
    [id, method, path].join(' '),
  );
  return hashOfLines(schema, listed);
}

/** The hash of a schema and of operations, a line for each, in whatever order they are listed. */
export function hashOfLines(schema: string, operations: readonly string[]): string {
  const text = JSON.stringify([schema, operations.toSorted()]);
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_DIGITS);
}

/** Whether two programs understand each other. */
export function isSameBuild(one: Build, other: Build): boolean {
  return buildInWords(one) === buildInWords(other);
}

/** For a person: `1.1.0 (schema 0020-schema-of-1.1.0, commands 1f3a5b7c9d2e)`. */
export function buildInWords({ version: number, schema, commands }: Build): string {
  return `${number} (schema ${schema}, commands ${commands})`;
}
