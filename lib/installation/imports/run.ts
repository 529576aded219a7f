// Runs every import: one transaction, in which all is validated by the rules of the API. With a
// single error, or if the import is only tried, nothing is written.

import {
  lockScopes,
  type Database,
  type Role,
  type Transaction,
  writeTransaction,
} from '../../../models/index.ts';
import type { FieldErrors, Errors } from '../../kit/validation/validate.ts';
import { isFieldError, sentenceOf } from '../../kit/validation/messages.ts';

/** So many errors are named; an import stops to look for more. */
export const ERRORS_MAX = 100;

/** A device that an import makes. */
export interface ImportedDevice {
  readonly name: string;
  /** Whether the file names it; else the name was made up, and another try makes another. */
  readonly isNamed: boolean;
  /** Where in the file. */
  readonly place: string;
}

/** The result of an import, before it is known whether it is committed. */
export interface Imported {
  /** Errors with their places: `devices[3].name has already been taken`. */
  readonly errors: readonly string[];
  /** What a person should know or do. */
  readonly notes: readonly string[];
  /** How many records of each kind were made, or otherwise dealt with. */
  readonly counts: Readonly<Record<string, number>>;
  /** The devices by name; left out where the file itself names them without a doubt. */
  readonly devices?: readonly ImportedDevice[];
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

/** Thrown when there are errors; its message has a line for each, and then the notes. */
export class ImportError extends Error {
  override name = 'ImportError';
}

/** Runs an import; throws ImportError with all errors when there is one. */
export async function runImport(
  database: Database,
  isTrial: boolean,
  work: (transaction: Transaction) => Promise<Imported>,
): Promise<Imported> {
  try {
    const { result } = await writeTransaction(database, async (transaction) => {
      await lockScopes(database, transaction, { configuration: true, addressPool: true });
      const found = await work(transaction);
      const imported = { ...found, notes: joined(found.notes) };
      if (imported.errors.length > 0) throw new ImportError(errorText(imported));
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

/** The errors of one record as lines that begin with its place, or with that of the field. */
export function errorLines(place: string, errors: Errors, places: FieldPlaces = {}): string[] {
  return Object.entries(errors).flatMap(([field, messages]) =>
    linesOf(field === 'base' ? place : (places[field] ?? `${place}.${field}`), messages),
  );
}

function linesOf(place: string, messages: FieldErrors): string[] {
  return messages.flatMap((message, index) =>
    isFieldError(message)
      ? [`${place} ${sentenceOf(message)}`]
      : errorLines(`${place}[${index}]`, message),
  );
}

function errorText({ errors, notes }: Imported): string {
  const count = errors.length === 1 ? 'one error' : `${errors.length} errors`;
  const head =
    errors.length > ERRORS_MAX
      ? `more than ${ERRORS_MAX} errors, and nothing was written; the first ${ERRORS_MAX}:`
      : `${count}, and nothing was written:`;
  return [head, ...indented(errors.slice(0, ERRORS_MAX)), ...indented(notes)].join('\n');
}

/** Notes that differ in their line alone become one, with the first line and how many follow. */
function joined(notes: readonly string[]): string[] {
  const places = new Map<string, { readonly line: string | null; more: number }>();
  for (const note of notes) {
    const [, line = null, text = note] = /^line (\d+): (.*)$/s.exec(note) ?? [];
    const present = places.get(text);
    if (present === undefined) places.set(text, { line, more: 0 });
    else present.more += 1;
  }
  return [...places].map(([text, { line, more }]) => {
    if (line === null) return text;
    const others = more === 0 ? '' : ` and ${more} other ${more === 1 ? 'line' : 'lines'}`;
    return `line ${line}${others}: ${text}`;
  });
}

/** Lines under another one. What comes from a file must not steer a terminal. */
export function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line.replaceAll(/\p{Cc}/gu, ' ')}`);
}
