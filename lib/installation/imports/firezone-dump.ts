// A dump of Firezone 0.7: what its GET endpoints answered, in one JSON object with the members
// `users`, `devices`, `rules` and `configuration`, each as it was answered or without its `data`.
// Read here; what it means is in firezone.ts.

import { newId } from '../../../models/index.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { isObject } from '../../kit/validation/validate.ts';
import { ERRORS_MAX } from './run.ts';

/** A record of the dump. */
export type DumpRecord = Readonly<Record<string, unknown>>;

/** What a dump holds; what was left out is empty. */
export interface FirezoneDump {
  readonly users: readonly DumpRecord[];
  readonly devices: readonly DumpRecord[];
  readonly rules: readonly DumpRecord[];
  readonly configuration: DumpRecord | null;
  /** What has another shape. */
  readonly errors: readonly string[];
}

const LISTS = ['users', 'devices', 'rules'] as const;

/** Reads the text of a dump; throws with a sentence when it is none at all. */
export function parseFirezoneDump(text: string): FirezoneDump {
  const dump = parse(text);
  const errors = Object.keys(dump)
    .filter((name) => name !== 'configuration' && !LISTS.some((list) => list === name))
    .map((name) => `${name} is not known; a dump has users, devices, rules and configuration`);
  const listOf = (name: (typeof LISTS)[number]): DumpRecord[] => {
    const list = contentOf(dump[name] ?? []);
    if (!Array.isArray(list)) {
      errors.push(refusalIn(name, list) ?? `${name} is no list`);
      return [];
    }
    const records = list as unknown[];
    for (const [index, record] of records.entries())
      if (!isObject(record) && errors.length <= ERRORS_MAX)
        errors.push(`${name}[${index}] is no object`);
    return records.map((record) => (isObject(record) ? (record as DumpRecord) : {}));
  };
  const [users, devices, rules] = [listOf('users'), listOf('devices'), listOf('rules')];
  const configuration = contentOf(dump['configuration'] ?? null);
  const refusal = refusalIn('configuration', configuration);
  if (refusal !== null) errors.push(refusal);
  else if (configuration !== null && !isObject(configuration))
    errors.push('configuration is no object');
  return {
    users,
    devices,
    rules,
    configuration: isObject(configuration) ? (configuration as DumpRecord) : null,
    errors,
  };
}

function parse(text: string): DumpRecord {
  let dump: unknown;
  try {
    dump = JSON.parse(text);
  } catch (error) {
    throw new Error(`the dump is not valid JSON: ${(error as Error).message}`, { cause: error });
  }
  if (!isObject(dump) || [...LISTS, 'configuration'].every((name) => !Object.hasOwn(dump, name)))
    throw new Error(
      'the dump is one JSON object with users, devices, rules and configuration, each as ' +
        'GET /v0/users and so on answered it',
    );
  return dump as DumpRecord;
}

/** The error if the old server refused to answer; null: it did not. */
function refusalIn(name: string, answer: unknown): string | null {
  if (!isObject(answer)) return null;
  const { errors, error = errors } = answer as DumpRecord;
  if (error === undefined) return null;
  return `the old server refused to give ${name}: ${JSON.stringify(error)}; check the token`;
}

function contentOf(answer: unknown): unknown {
  return isObject(answer) && Object.hasOwn(answer, 'data')
    ? (answer as DumpRecord)['data']
    : answer;
}

/** The id of a record, or another where it is taken or none. */
export function freeId(id: unknown, taken: ReadonlySet<string>): string {
  if (typeof id !== 'string' || !isUuid(id) || taken.has(id.toLowerCase())) return newId();
  return id.toLowerCase();
}

/** When a record was made, as a column; empty where the dump does not say. */
export function madeAt(record: DumpRecord): { inserted_at?: Date } {
  const time = timeOf(record['inserted_at']);
  return time === null ? {} : { inserted_at: time };
}

/** Reads a time of an answer. Firezone's are UTC, also where no zone is named. */
export function timeOf(value: unknown): Date | null {
  const form = /^\d{4}-\d\d-\d\d[T ][\d:.]+(Z|[+-]\d\d:\d\d)?$/;
  const [text, zone] = (typeof value === 'string' ? form.exec(value) : null) ?? [];
  if (text === undefined) return null;
  const time = new Date(`${text.replace(' ', 'T')}${zone === undefined ? 'Z' : ''}`);
  return Number.isNaN(time.getTime()) ? null : time;
}
