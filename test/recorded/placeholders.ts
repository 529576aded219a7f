// Placeholders: what differs from run to run, ids and times say, is in a recording as
// `{{name:kind}}`. The first one of a name binds the text that the answer has there; from then on
// the name means that very text, in requests and in answers. `{{:kind}}` binds nothing.

/** What each kind of placeholder may stand for. */
const KINDS: Readonly<Record<string, RegExp>> = {
  uuid: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/,
  time: /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z/,
  /** A time as commands show it to people. */
  instant: /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/,
  second: /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z/,
  key: /[A-Za-z0-9+/]{43}=/,
  number: /\d+/,
  word: /[a-z0-9-]+/,
  ipv4: /\d{1,3}(?:\.\d{1,3}){3}/,
  ipv6: /[0-9a-f:]+/,
  token: /pst_[A-Za-z0-9_-]{43}/,
  /** Of a link that works once. */
  secret: /[A-Za-z0-9_-]{43}/,
  password: /[A-Za-z0-9_-]{20}/,
  /** The id of an encryption key. */
  keyid: /[0-9a-f]{8}/,
  /** In the name of a backup: the step of its schema, if it is there, and when it was made. */
  stamp: /(?:\d{4}-)?\d{8}T\d{6}\.\d{3}Z/,
  /** A step of the schema. */
  step: /\d{4}-[a-z0-9.-]+/,
  version: /\S+/,
  /** A number of JSON. */
  count: /\d+/,
  cursor: /[A-Za-z0-9_-]+/,
};

/** Two names of these kinds never stand for one text. */
const DISTINCT = new Set(['uuid', 'key', 'token', 'secret', 'password']);

const PLACEHOLDER = /\{\{([A-Za-z0-9._-]*)(?::([a-z0-9]+))?\}\}/g;

/** What is bound to a name. */
interface Bound {
  readonly value: string;
  readonly kind: string;
}

/** What the names of one recording stand for. */
export class Bindings {
  readonly #bound = new Map<string, Bound>();

  /** Makes a name stand for a text. */
  bind(name: string, value: string, kind = 'text'): void {
    this.#bound.set(name, { value, kind });
  }

  /** What a name stands for; null where it stands for nothing yet. */
  valueOf(name: string): string | null {
    return this.#bound.get(name)?.value ?? null;
  }

  /** Every name with what it stands for. */
  entries(): IterableIterator<[string, Bound]> {
    return this.#bound.entries();
  }

  /** A text that is sent, with what its names stand for. */
  fill(text: string): string {
    return text.replaceAll(PLACEHOLDER, (placeholder, name: string) => {
      const bound = this.#bound.get(name);
      if (bound === undefined) throw new Error(`nothing is bound to ${placeholder} yet`);
      return bound.value;
    });
  }

  /** Compares a text that was received, and binds new names; null where it is as recorded. */
  match(recorded: string, received: string): string | null {
    const [pattern, names] = this.#patternOf(recorded);
    const matched = pattern.exec(received);
    const different = `is ${JSON.stringify(received)}, not ${JSON.stringify(recorded)}`;
    if (matched === null) return different;
    for (const [i, { name, kind }] of names.entries()) {
      const value = matched[i + 1] ?? '';
      const known = this.#bound.get(name);
      if (known !== undefined && known.value !== value) return different;
      const namesake = this.#namesake(name, value, kind);
      if (namesake !== null) return `${different}: it is the same as {{${namesake}}}`;
      if (name !== '') this.bind(name, value, kind);
    }
    return null;
  }

  /** Another name that stands for a text which no two names may share. */
  #namesake(name: string, value: string, kind: string): string | null {
    if (name === '' || !DISTINCT.has(kind)) return null;
    for (const [other, bound] of this.#bound)
      if (other !== name && bound.value === value) return other;
    return null;
  }

  #patternOf(recorded: string): [RegExp, { name: string; kind: string }[]] {
    const names: { name: string; kind: string }[] = [];
    let source = '';
    let from = 0;
    for (const { 0: placeholder, 1: name = '', 2: kind, index } of recorded.matchAll(PLACEHOLDER)) {
      source += escaped(recorded.slice(from, index));
      from = index + placeholder.length;
      const bound = this.#bound.get(name);
      if (bound !== undefined) {
        source += escaped(bound.value);
        continue;
      }
      const before = name === '' ? -1 : names.findIndex((one) => one.name === name);
      if (before >= 0) {
        source += `(?:\\${before + 1})`;
        continue;
      }
      const text = KINDS[kind ?? ''];
      if (text === undefined) throw new Error(`${placeholder} is not bound and has no kind`);
      source += `(${text.source})`;
      names.push({ name, kind: kind ?? '' });
    }
    return [new RegExp(`^${source}${escaped(recorded.slice(from))}$`, 's'), names];
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
