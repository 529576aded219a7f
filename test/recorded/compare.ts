// Compares an answer with its recording: the status, every recorded header, and the body byte for
// byte, but that objects may have members which the recording does not have. Nothing else may
// change: no value, no type, no order, no length of a list.

import { isDeepStrictEqual } from 'node:util';
import type { Answer } from '../support/api/requests.ts';
import type { Bindings } from './placeholders.ts';
import type { RecordedAnswer } from './recording.ts';

/** Members of an error's `errors` are part of what is refused, so none may come. */
const CLOSED = /^body\.errors\b/;
/** How JSON that a command printed differs from what is recorded; `closed`: where nothing may come. */
export function jsonDifference(
  recorded: unknown,
  received: unknown,
  closed: RegExp,
  bindings: Bindings,
): string | null {
  return compare(recorded, received, { place: 'stdout', closed, bindings });
}

/** Stands for any number of JSON. */
const COUNT = /^\{\{:count\}\}$/;

/** What is compared. */
interface At {
  /** Where it is, for what is said of it. */
  readonly place: string;
  /** Where no members may come. */
  readonly closed: RegExp;
  readonly bindings: Bindings;
}

/** How an answer differs from its recording; null where it does not. Binds new placeholders. */
export function differenceOf(
  recorded: RecordedAnswer,
  { status, headers, text }: Pick<Answer, 'status' | 'headers' | 'text'>,
  bindings: Bindings,
): string | null {
  if (status !== recorded.status)
    return `the status is ${status}, not ${recorded.status}: ${text.slice(0, 500)}`;
  for (const [name, value] of recorded.headers) {
    const received = headers[name];
    if (received === undefined) return `the header ${name} is missing`;
    const error = bindings.match(value, String(received));
    if (error !== null) return `the header ${name} ${error}`;
  }
  if (recorded.body === '' || text === '')
    return recorded.body === text ? null : `the body is ${JSON.stringify(text.slice(0, 500))}`;
  return compareBody(recorded.body, text, bindings);
}

function compareBody(recorded: string, text: string, bindings: Bindings): string | null {
  let received: unknown;
  try {
    received = JSON.parse(text);
  } catch {
    return `the body is no JSON: ${JSON.stringify(text.slice(0, 500))}`;
  }
  // With these very bytes, two bodies are the same bytes where they are the same values in one
  // order: no whitespace, no second spelling of a number or a letter, no member twice.
  if (JSON.stringify(received) !== text) return `the body is not spelled as JSON.stringify does`;
  return compare(JSON.parse(recorded), received, { place: 'body', closed: CLOSED, bindings });
}

function compare(recorded: unknown, received: unknown, at: At): string | null {
  const { place, bindings } = at;
  if (typeof recorded === 'string' && typeof received === 'string') {
    const error = bindings.match(recorded, received);
    return error === null ? null : `${place} ${error}`;
  }
  if (Array.isArray(recorded) && Array.isArray(received))
    return compareLists(recorded, received, at);
  if (isObject(recorded) && isObject(received)) return compareObjects(recorded, received, at);
  // Numbers that differ from run to run; a text of digits is none.
  if (typeof recorded === 'string' && typeof received === 'number' && COUNT.test(recorded))
    return null;
  return isDeepStrictEqual(recorded, received)
    ? null
    : `${place} is ${brief(received)}, not ${brief(recorded)}`;
}

function compareLists(
  recorded: readonly unknown[],
  received: readonly unknown[],
  at: At,
): string | null {
  const { place } = at;
  if (recorded.length !== received.length)
    return `${place} has ${received.length} members, not ${recorded.length}`;
  for (const [i, member] of recorded.entries()) {
    const error = compare(member, received[i], { ...at, place: `${place}[${i}]` });
    if (error !== null) return error;
  }
  return null;
}

function compareObjects(
  recorded: Readonly<Record<string, unknown>>,
  received: Readonly<Record<string, unknown>>,
  at: At,
): string | null {
  const { place, closed } = at;
  const names = Object.keys(recorded);
  for (const name of names)
    if (!Object.hasOwn(received, name)) return `${place}.${name} is missing`;
  const known = new Set(names);
  const order = Object.keys(received).filter((name) => known.has(name));
  if (!isDeepStrictEqual(order, names))
    return `${place} has its members in the order ${order.join(', ')}, not ${names.join(', ')}`;
  const added = Object.keys(received).find((name) => !known.has(name));
  if (added !== undefined && closed.test(place)) return `${place}.${added} was not there`;
  for (const name of names) {
    const error = compare(recorded[name], received[name], { ...at, place: `${place}.${name}` });
    if (error !== null) return error;
  }
  return null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function brief(value: unknown): string {
  return (JSON.stringify(value) ?? 'undefined').slice(0, 200);
}
