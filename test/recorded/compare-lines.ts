// Compares what a line of a scene came to with its recording: exit code, standard output, standard
// error and audit trail, exactly but for placeholders; JSON for programs value for value.

import { messageOf } from '../../lib/kit/process/message.ts';
import type { Bindings } from './placeholders.ts';
import { jsonDifference } from './compare.ts';
import type { RecordedEnd } from './scene.ts';
import type { Result } from './scene-world.ts';

/** What may differ. Exit codes and keys of JSON never do; the others may where a list says so. */
export type Part = 'status' | 'keys' | 'stdout' | 'stderr' | 'audit';

/**
 * Where the keys of JSON are names of settings and of tables, and so are data: names may come there,
 * and none goes.
 */
const OPEN = String.raw`^stdout(?:\[\d+\]\.settings|\.counts)$`;
const CLOSED = new RegExp(`^(?!${OPEN})`);
/** All that `check-config` prints are such names. */
const CLOSED_OF_SETTINGS = /^stdout./;

/** One difference. */
export interface Difference {
  readonly part: Part;
  readonly says: string;
}

/** The first difference of each part. Binds new placeholders. */
export function lineDifferences(
  line: string,
  recorded: RecordedEnd,
  { status, stdout, stderr, audit }: Result,
  bindings: Bindings,
): Difference[] {
  const found: Difference[] = [];
  const add = (part: Part, says: string | null): void => {
    if (says !== null) found.push({ part, says: `${part}: ${says}` });
  };
  if (status !== recorded.status)
    add('status', `the exit code is ${status}, not ${recorded.status}`);
  const json = jsonIn(recorded.stdout);
  if (json === null) add('stdout', textDifference(recorded.stdout, stdout, bindings));
  else {
    const received = jsonIn(stdout);
    if (received === null) add('keys', `no JSON: ${brief(stdout)}`);
    else {
      const closed = closedOf(line);
      add('keys', keysDifference(json.value, received.value, closed));
      add('stdout', jsonDifference(json.value, received.value, closed, bindings));
      // With these very bytes, two texts are the same bytes where they hold the same values.
      if (`${JSON.stringify(received.value)}\n` !== stdout)
        add('stdout', 'is not spelled as JSON.stringify does, with one line break');
    }
  }
  add('stderr', textDifference(recorded.stderr, stderr, bindings));
  add('audit', textDifference(recorded.audit.join('\n'), audit.join('\n'), bindings));
  return found;
}

/** Where no keys may come in what a line prints. */
export function closedOf(line: string): RegExp {
  return line.startsWith('postern check-config') ? CLOSED_OF_SETTINGS : CLOSED;
}

/** The JSON of a text that is an object or a list; else null. */
export function jsonIn(text: string): { readonly value: unknown } | null {
  if (!/^[[{]/.test(text)) return null;
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}

/** How the keys of two values differ, in their order too; null: they do not. */
export function keysDifference(
  recorded: unknown,
  received: unknown,
  closed: RegExp,
  place = 'stdout',
): string | null {
  if (Array.isArray(recorded) && Array.isArray(received)) {
    const both = recorded.slice(0, received.length);
    for (const [i, member] of both.entries()) {
      const error = keysDifference(member, received[i], closed, `${place}[${i}]`);
      if (error !== null) return error;
    }
    return null;
  }
  // Null stands for what is not there.
  if (recorded === null || received === null) return null;
  if (typeof recorded !== 'object' && typeof received !== 'object') return null;
  if (typeof recorded !== typeof received || Array.isArray(recorded) !== Array.isArray(received))
    return `${place} is ${brief(JSON.stringify(received))}, not ${brief(JSON.stringify(recorded))}`;
  const before = recorded as Record<string, unknown>;
  const after = received as Record<string, unknown>;
  const names = Object.keys(before);
  const now = Object.keys(after).filter((name) => closed.test(place) || names.includes(name));
  if (names.join() !== now.join())
    return `${place} has the keys ${now.join(', ')}, not ${names.join(', ')}`;
  for (const name of names) {
    const error = keysDifference(before[name], after[name], closed, `${place}.${name}`);
    if (error !== null) return error;
  }
  return null;
}

function textDifference(recorded: string, received: string, bindings: Bindings): string | null {
  const [before, after] = [recorded.split('\n'), received.split('\n')];
  for (const [i, line] of before.entries()) {
    const now = after[i];
    if (now === undefined) return `line ${i + 1} is missing: ${brief(line)}`;
    const error = matchError(line, now, bindings);
    if (error !== null) return `line ${i + 1} ${error}`;
  }
  return after.length === before.length
    ? null
    : `line ${before.length + 1} came: ${brief(after[before.length] ?? '')}`;
}

/** A name that stands for nothing, after a difference above it, is one more difference. */
function matchError(line: string, now: string, bindings: Bindings): string | null {
  try {
    return bindings.match(line, now);
  } catch (error) {
    return `is ${JSON.stringify(now)}: ${messageOf(error)}`;
  }
}

function brief(text: string): string {
  return text.slice(0, 300);
}
