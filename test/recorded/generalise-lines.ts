// Makes a recording of what a line came to: puts placeholders where the next run will have another
// text. Ids, keys and secrets are named after what the line is about, times of a record after it.

import type { Bindings } from './placeholders.ts';
import { jsonIn } from './compare-lines.ts';
import type { RecordedEnd, Typed } from './scene.ts';
import type { Result } from './scene-world.ts';

const DAY_MS = 86_400_000;
/** Times that are nearer to now than this were made by the clock. */
const NOW_MS = 400 * DAY_MS;
/** Those of the fakes of world.ts, and of examples in help. */
const FAKED = /^2026-(?:11-25T12:0|11-21T08:00:00Z|12-31T17:00:00Z)/;
const TIME = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{3}(?:\d{3})?)?Z/g;
const WHOLE_TIME = new RegExp(`^${TIME.source}$`);
/** What is made up, by the kind of its placeholder; the text of a match is bound. */
const MADE_UP: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['uuid', /(?!0{8})[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g],
  ['token', /pst_[A-Za-z0-9_-]{43}/g],
  // Keys of the world repeat one byte.
  ['key', /(?!(.{4})\1)[A-Za-z0-9+/]{43}=/g],
  ['secret', /(?<=\/[a-z_-]+\/)[A-Za-z0-9_-]{43}(?![A-Za-z0-9_=-])/g],
  ['ipv4', /(?<![\d.])100\.64\.0\.[3-7](?![\d.])/g],
  ['keyid', /(?<=\bkey |\.key\.|^)[0-9a-f]{8}\b(?!-)/g],
  ['stamp', /\b(?:\d{4}-)?\d{8}T\d{6}\.\d{3}Z/g],
  // That of the gateway of the world is always the same.
  ['step', /\b(?!0015-gateway-schema)\d{4}-[a-z]{3}[a-z\d.-]*/g],
  ['word', /(?<="name":\{"(?:to|from)":")[a-z]+-[a-z]+(?=")/g],
  ['ipv6', /(?<![0-9a-f:])fd00::[3-7](?![0-9a-f:])/g],
];
/** What a device is called that was given no name. */
const WORD = /^[a-z]+-[a-z]+$/;
/** A password has its line, or its member of JSON, for itself. */
const PASSWORD = /^[A-Za-z0-9_-]{20}$/gm;

/** What the recorder of one scene knows. */
export class LineGeneraliser {
  readonly #bindings: Bindings;
  readonly #folder: string;
  readonly #counts = new Map<string, number>();
  /** What was typed: that is not made up. */
  #typed = '';
  #noun = '';

  constructor(bindings: Bindings, folder: string) {
    this.#bindings = bindings;
    this.#folder = folder;
  }

  /** What was typed from here on, with the files that it names. */
  types({ line, stdin }: Typed, files: string): void {
    this.#typed = [line, stdin, files].join('\n');
    this.#noun = (wordsOfNoun(line)[0] ?? '').replace(/s$/, '');
  }

  /** The recording of what a line came to. */
  record({ status, stdout, stderr, audit }: Result): RecordedEnd {
    const json = stdout.trim().includes('\n') ? null : jsonIn(stdout);
    return {
      status: status ?? -1,
      stdout:
        json === null
          ? this.#text(stdout, true)
          : `${JSON.stringify(this.#value(json.value, '', ''), null, 2)}\n`,
      stderr: this.#text(stderr),
      audit: audit.map((entry) => this.#text(entry)),
    };
  }

  #value(value: unknown, owner: string, name: string): unknown {
    if (Array.isArray(value)) return value.map((one) => this.#value(one, owner, name));
    if (typeof value === 'string') return this.#member(value, owner, name);
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value);
    const own = members.find(([key]) => key === 'id')?.[1] as unknown;
    // Names of times begin with that of their record, where it is known already.
    const whose = typeof own === 'string' ? this.#known(own) : '';
    const shown: [string, unknown][] = [];
    let named = whose;
    for (const [key, one] of members) {
      shown.push([key, this.#value(one, named, key)]);
      if (key === 'id' && typeof own === 'string') named = this.#known(own);
    }
    return Object.fromEntries(shown);
  }

  #member(value: string, owner: string, name: string): string {
    if (name === 'name' && WORD.test(value)) return this.#named(value, 'word');
    if (name === 'password' && PASSWORD.test(value)) return this.#text(value, true);
    if (owner === '' || !WHOLE_TIME.test(value) || !isNow(value)) return this.#text(value);
    for (let i = 1; ; i += 1) {
      const field = `${owner}.${name}${i === 1 ? '' : `-${i}`}`;
      const known = this.#bindings.valueOf(field);
      if (known === value) return `{{${field}}}`;
      if (known === null) return this.#bound(field, value, kindOfTime(value));
    }
  }

  /** A text with placeholders; one that may hold a password on a line for itself. */
  #text(text: string, mayHoldPassword = false): string {
    let shown = text.replaceAll(this.#folder, '{{folder}}');
    for (const name of ['providers', 'database-folder']) {
      const value = this.#bindings.valueOf(name);
      if (value !== null) shown = shown.replaceAll(value, `{{${name}}}`);
    }
    shown = shown.replaceAll(TIME, (time) => (isNow(time) ? `{{:${kindOfTime(time)}}}` : time));
    for (const [name, { value, kind }] of this.#bindings.entries())
      if (kind === 'word') shown = shown.replaceAll(value, `{{${name}}}`);
    for (const [kind, pattern] of MADE_UP)
      shown = shown.replaceAll(pattern, (made) => this.#named(made, kind));
    if (mayHoldPassword)
      shown = shown.replaceAll(PASSWORD, (made) => this.#named(made, 'password'));
    return shown;
  }

  #named(made: string, kind: string): string {
    const known = this.#known(made);
    if (known !== '') return `{{${known}}}`;
    if (this.#typed.includes(made)) return made;
    return this.#bound(this.#numbered(this.#nameFor(kind)), made, kind);
  }

  /** An id has the name of its record, and what a token sends that of what it is sent as. */
  #nameFor(kind: string): string {
    if (kind === 'uuid') return this.#noun;
    return kind === 'token' ? 'bearer' : kind;
  }

  /** The name that stands for a text; empty where none does. */
  #known(value: string): string {
    for (const [name, bound] of this.#bindings.entries()) if (bound.value === value) return name;
    return '';
  }

  #numbered(name: string): string {
    for (;;) {
      const count = (this.#counts.get(name) ?? 0) + 1;
      this.#counts.set(name, count);
      if (this.#bindings.valueOf(`${name}-${count}`) === null) return `${name}-${count}`;
    }
  }

  #bound(name: string, value: string, kind: string): string {
    this.#bindings.bind(name, value, kind);
    return `{{${name}:${kind}}}`;
  }
}

function wordsOfNoun(line: string): string[] {
  return line.split(' ').slice(1);
}

function isNow(time: string): boolean {
  return !FAKED.test(time) && Math.abs(Date.parse(time) - Date.now()) < NOW_MS;
}

function kindOfTime(time: string): string {
  const [, fraction = ''] = time.split('.');
  return fraction === '' ? 'second' : fraction.length === 4 ? 'instant' : 'time';
}
