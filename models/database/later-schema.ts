// Whether a later version migrated the database while this process runs. Each read of the revision
// and each end of a write looks for steps that this version does not know, in the same statement.
// Rows may then have a meaning that this version cannot know. docs/state.md#a-later-schema.

import { driverError } from '../storage/rerun.ts';
import type { DatabaseKind } from '../storage/time.ts';

/** What is known of a later version that migrated the database. */
export interface LaterSchema {
  /** The first step that this version does not know. */
  readonly step: string;
  /** When it ran. */
  readonly since: Date;
}

/** Thrown where a write would go to a database that a later version migrated. */
export class SchemaNewerError extends Error {
  override name = 'SchemaNewerError';

  constructor(step: string | null = null) {
    super(
      `A later version of Postern migrated this database${step === null ? '' : ` (${step})`}; this ` +
        'version writes nothing to it. Upgrade it',
    );
  }
}

/** What a server says of a subquery that gives more than one row. */
const SEVERAL_ROWS = 'ER_SUBQUERY_NO_1_ROW';

/** An expression of SQL: time and name of the first step that is not known; NULL where none is. */
export function laterStep(kind: DatabaseKind, last: string | null): string {
  if (last === null) return 'NULL';
  const both = kind === 'sqlite' ? "executed_at || ' ' || name" : "CONCAT(executed_at, ' ', name)";
  return `(SELECT MIN(${both}) FROM migrations WHERE ${isLater(last)})`;
}

/** A condition of SQL: there is no unknown step. */
export function noneIsLater(last: string | null): string {
  return last === null ? '1 = 1' : `NOT EXISTS (SELECT 1 FROM migrations WHERE ${isLater(last)})`;
}

/**
 * An expression of SQL that is 0, and on MySQL an error where a step is not known: there the commit
 * goes in the same text, and nothing but an error holds it up.
 */
export function zeroOrError(last: string | null): string {
  return last === null
    ? '0'
    : `(SELECT 0 UNION ALL SELECT 0 FROM migrations WHERE ${isLater(last)})`;
}

/** Whether that error was met. */
export function isSchemaError(error: unknown): boolean {
  return driverError(error).code === SEVERAL_ROWS;
}

/** Reads what `laterStep` gave. */
export function readLater(text: string | null): LaterSchema | null {
  if (text === null) return null;
  const [day = '', time = '', ...rest] = text.split(' ');
  return { step: rest.at(-1) ?? '', since: new Date(`${day}T${time.slice(0, 12)}Z`) };
}

/** Finds rows by the index of their names: as a rule it finds none. */
function isLater(last: string): string {
  if (!/^[\w.-]+$/.test(last)) throw new Error(`${last} is no name of a step`);
  return `name > '${last}'`;
}
