// The frame of every import: one transaction, in which all is judged by the rules of the API. With
// a single fault, or when it is only tried, nothing stays.

import {
  lockScopes,
  type Database,
  type Role,
  type Transaction,
  writeTransaction,
} from '../../models/index.ts';
import type { FieldFaults, Faults } from '../judge/judge.ts';

/** What an import comes to, before anybody knows whether it stays. */
export interface Imported {
  /** Faults with their places: `devices[3].name has already been taken`. */
  readonly faults: readonly string[];
  /** What a person should know or do. */
  readonly notes: readonly string[];
  /** How many records of each kind were made, or otherwise dealt with. */
  readonly counts: Readonly<Record<string, number>>;
  /** People who were there already; left out where an import brings none. */
  readonly present?: readonly PresentUser[];
}

/** Somebody who was there already, left as they are, with what the file says otherwise. */
export interface PresentUser {
  readonly email: string;
  readonly differs: {
    readonly role?: { readonly here: Role; readonly there: Role };
    readonly disabled?: { readonly here: boolean; readonly there: boolean };
  };
}

/** Thrown when there are faults; its message has a line for each, and then the notes. */
export class ImportError extends Error {
  override name = 'ImportError';
}

/** Runs an import; throws ImportError with all faults when there is one. */
export async function runImport(
  database: Database,
  isTrial: boolean,
  work: (transaction: Transaction) => Promise<Imported>,
): Promise<Imported> {
  try {
    const { result } = await writeTransaction(database, async (transaction) => {
      await lockScopes(database, transaction, { configuration: true, addressPool: true });
      const imported = await work(transaction);
      if (imported.faults.length > 0) throw new ImportError(complaint(imported));
      if (isTrial) throw new TrialEnds(imported);
      return imported;
    });
    return result;
  } catch (error) {
    if (error instanceof TrialEnds) return error.imported;
    throw error;
  }
}

/** Carries the result of a trial out of a transaction that is rolled back. */
class TrialEnds extends Error {
  readonly imported: Imported;

  constructor(imported: Imported) {
    super('a trial');
    this.imported = imported;
  }
}

/** By the API's name of a field: where the file has it. */
export type FieldPlaces = Readonly<Record<string, string>>;

/** The faults of one record as lines that begin with its place, or with that of the field. */
export function faultLines(place: string, faults: Faults, places: FieldPlaces = {}): string[] {
  return Object.entries(faults).flatMap(([field, messages]) =>
    linesOf(field === 'base' ? place : (places[field] ?? `${place}.${field}`), messages),
  );
}

function linesOf(place: string, messages: FieldFaults): string[] {
  return messages.flatMap((message, index) =>
    typeof message === 'string'
      ? [`${place} ${message}`]
      : faultLines(`${place}[${index}]`, message),
  );
}

function complaint({ faults, notes }: Imported): string {
  const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`;
  return [`${count}, and nothing was written:`, ...indented(faults), ...indented(notes)].join('\n');
}

/** Lines under another one. What comes from a file must not steer a terminal. */
export function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line.replaceAll(/\p{Cc}/gu, ' ')}`);
}
