// The list of differences from the recorded commands that are meant: commands/differences.txt. Each
// names a line of a scene, the item that means it, and what takes the place of what is recorded.
// Keys of JSON are in no list, and of exit codes only the 0 of a line that was refused before.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { closedOf, jsonIn, keysDifference } from './compare-lines.ts';
import { blocksOf, partsOf, readHeader, type RecordedEnd, type Typed } from './scene.ts';

const FILE = join(import.meta.dirname, 'commands/differences.txt');
const KEYS = ['scene', 'item', 'nth'];
/** What an entry has of a line that was wrong usage, and is none any more. */
const SUCCEEDS = '=> 0';
const USAGE = 2;
const PARTS = { '>': 'stdout', '!': 'stderr', '+': 'audit' } as const;

/** One difference that is meant. */
export interface Meant {
  readonly scene: string;
  /** What means it. */
  readonly item: string;
  /** Which of the lines of the scene that are typed alike, from 1. */
  readonly nth: number;
  readonly line: string;
  /** The parts that are others now; an empty one is written as its mark alone. */
  readonly parts: Partial<RecordedEnd>;
}

/** Reads the list. */
export function readMeant(text: string = readFileSync(FILE, 'utf8')): Meant[] {
  return blocksOf(text)
    .map((block) => block.split('\n').filter((line) => !line.startsWith('#')))
    .filter((lines) => lines.length > 0)
    .map(readOne);
}

function readOne(lines: readonly string[]): Meant {
  const at = lines.findIndex((line) => line.startsWith('$ '));
  const block = lines.join('\n');
  if (at === -1) throw new Error(`no line begins with "$ " in:\n${block}`);
  const head = new Map(lines.slice(0, at).map(readHeader));
  const { scene, item, nth = '1' } = Object.fromEntries(head);
  if (scene === undefined || item === undefined || item.trim() === '')
    throw new Error(`"scene: " or "item: " is missing in:\n${block}`);
  const unknown = [...head.keys()].find((key) => !KEYS.includes(key));
  if (unknown !== undefined) throw new Error(`"${unknown}: " is not known in:\n${block}`);
  const rest = lines.slice(at + 1);
  const status = rest.includes(SUCCEEDS) ? { status: 0 } : {};
  const marked = rest.filter((line) => line !== SUCCEEDS);
  const wrong = marked.find((line) => !Object.hasOwn(PARTS, line.slice(0, 1)));
  if (wrong !== undefined)
    throw new Error(`"${wrong}" is no output, error or audit entry; nothing else may differ`);
  const all = partsOf(marked);
  const given = new Set(marked.map((line) => PARTS[line.slice(0, 1) as keyof typeof PARTS]));
  if (given.size === 0) throw new Error(`nothing differs in:\n${block}`);
  const changed = [...given].map((part) => [part, emptied(all[part])] as const);
  const parts = { ...status, ...Object.fromEntries(changed) };
  return { scene, item, nth: Number(nth), line: lines[at]?.slice(2) ?? '', parts };
}

/** A mark alone is a part that is empty now. */
function emptied<Text extends string | readonly string[]>(part: Text): Text | '' {
  return part === '\n' ? '' : part;
}

/** What a line is to come to: its recording, with what the list says. `before`: the lines above it. */
export function expected(
  typed: Typed,
  before: readonly Typed[],
  meant: readonly Meant[],
): { readonly end: RecordedEnd | null; readonly meant: Meant | null } {
  const { line, end } = typed;
  const nth = 1 + before.filter((one) => one.line === line).length;
  const found = meant.find((one) => one.line === line && one.nth === nth) ?? null;
  if (end === null || found === null) return { end, meant: found };
  const changed = { ...end, ...found.parts };
  const error = meantError(line, end, changed);
  if (error !== null) throw new Error(`differences.txt: $ ${line}: ${error}`);
  return { end: changed, meant: found };
}

/** Why a difference cannot be meant. */
function meantError(line: string, end: RecordedEnd, changed: RecordedEnd): string | null {
  if (JSON.stringify(end) === JSON.stringify(changed)) return 'it is as it was recorded';
  if (changed.status !== end.status && end.status !== USAGE)
    return 'only a line that was refused as wrong usage may succeed now';
  const json = jsonIn(end.stdout);
  if (json === null) return null;
  const now = jsonIn(changed.stdout);
  return now === null
    ? 'what was JSON must stay JSON'
    : keysDifference(json.value, now.value, closedOf(line));
}
