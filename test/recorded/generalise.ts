// Makes a recording of an answer: puts placeholders where the next run will have another text. Ids
// are named after the collection in the path, times and made-up values after their record and field.

import type { Answer } from '../support/api/requests.ts';
import type { Bindings } from './placeholders.ts';
import type { Exchange, RecordedAnswer } from './recording.ts';

/** Headers that say how an answer travels, or how long it is. */
const UNRECORDED_HEADERS = /^(date|connection|keep-alive|content-length|transfer-encoding)$/;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/;
/** Times that are nearer to now than this were made by the clock. */
const NOW_MS = 30 * 24 * 60 * 60 * 1_000;
/** Fields of a device that are made up where they were left out. */
const MADE_UP: Readonly<Record<string, string>> = {
  name: 'word',
  preshared_key: 'key',
  ipv4: 'ipv4',
  ipv6: 'ipv6',
};

/** What the recorder of one file knows. */
export class Generaliser {
  readonly #bindings: Bindings;
  /** Members that are not recorded, because they may change. */
  readonly #unrecorded: ReadonlySet<string>;
  readonly #counts = new Map<string, number>();

  constructor(bindings: Bindings, unrecorded: readonly string[]) {
    this.#bindings = bindings;
    this.#unrecorded = new Set(unrecorded);
  }

  /** The recording of an answer. */
  record(exchange: Exchange, { status, headers, text, body }: Answer): RecordedAnswer {
    const named = Object.entries(headers)
      .filter(([name]) => !UNRECORDED_HEADERS.test(name))
      .map(([name, value]) => [name, this.#header(exchange, name, String(value), text)] as const);
    return {
      status,
      headers: named,
      body: text === '' ? '' : pretty(this.#value(body, exchange, { text: '', name: '' })),
    };
  }

  /** A recording with what the answer has beside; what is recorded stays as it is. */
  widen(exchange: Exchange, recorded: RecordedAnswer, answer: Answer): RecordedAnswer {
    const present = new Set(recorded.headers.map(([name]) => name));
    const { headers } = this.record(exchange, { ...answer, body: null, text: '' });
    const body =
      recorded.body === ''
        ? ''
        : pretty(this.#widened(JSON.parse(recorded.body), answer.body, exchange));
    return {
      ...recorded,
      headers: [...recorded.headers, ...headers.filter(([name]) => !present.has(name))],
      body,
    };
  }

  #widened(recorded: unknown, received: unknown, exchange: Exchange): unknown {
    if (Array.isArray(recorded) && Array.isArray(received))
      return recorded.map((member, i) => this.#widened(member, received[i], exchange));
    if (!isObject(recorded) || !isObject(received)) return recorded;
    const owner = this.#owner(received);
    return Object.fromEntries(
      Object.entries(received)
        .filter(([name]) => Object.hasOwn(recorded, name) || !this.#unrecorded.has(name))
        .map(([name, value]) => [
          name,
          Object.hasOwn(recorded, name)
            ? this.#widened(recorded[name], value, exchange)
            : this.#value(value, exchange, { text: owner, name }),
        ]),
    );
  }

  #header({ path }: Exchange, name: string, value: string, text: string): string {
    if (name === 'postern-revision') return '{{:number}}';
    if (name === 'x-request-id')
      return text.includes(value)
        ? this.#bound(this.#numbered('request'), value, 'uuid')
        : '{{:uuid}}';
    if (name === 'link')
      return value.replace(/(?<=cursor=)[A-Za-z0-9_-]+/, (cursor) => {
        const page = `page-of-${collectionOf(path)}`;
        return this.#known(cursor) ?? this.#bound(this.#numbered(page), cursor, 'cursor');
      });
    return this.#text(path, value);
  }

  #value(value: unknown, exchange: Exchange, place: { text: string; name: string }): unknown {
    if (Array.isArray(value)) return value.map((one) => this.#value(one, exchange, place));
    if (typeof value === 'string') return this.#field(value, exchange, place);
    if (!isObject(value)) return value;
    // The id first: the other fields are named after it.
    if (typeof value['id'] === 'string') this.#text(exchange.path, value['id'], true);
    const owner = this.#owner(value);
    return Object.fromEntries(
      Object.entries(value)
        .filter(([name]) => place.name === 'properties' || !this.#unrecorded.has(name))
        .map(([name, one]) => [name, this.#value(one, exchange, { text: owner, name })]),
    );
  }

  #field(value: string, { method, path }: Exchange, place: { text: string; name: string }): string {
    const { text: owner, name } = place;
    const field = owner === '' ? name : `${owner}.${name}`;
    if (TIME.test(value) && Math.abs(Date.parse(value) - Date.now()) < NOW_MS)
      return this.#moving(field, value, 'time');
    const kind = MADE_UP[name];
    if (kind !== undefined && owner !== '') {
      if (this.#bindings.valueOf(field) === value) return `{{${field}}}`;
      const isMade = method === 'POST' && path === '/v0/devices';
      if (isMade && !this.#sent.toLowerCase().includes(value.toLowerCase()))
        return this.#bound(field, value, kind);
    }
    return this.#text(path, value);
  }

  /** What the request at hand sent, so that it is not taken for made up. */
  #sent = '';

  /** Says what is sent next. */
  sends(body: string): void {
    this.#sent = body;
  }

  /** A field that moves: each value that it has had has a name of its own. */
  #moving(field: string, value: string, kind: string): string {
    for (let i = 1; ; i += 1) {
      const name = i === 1 ? field : `${field}-${i}`;
      const known = this.#bindings.valueOf(name);
      if (known === value) return `{{${name}}}`;
      if (known === null) return this.#bound(name, value, kind);
    }
  }

  /** A text with names in place of what is bound; new ids are bound. */
  #text(path: string, value: string, isQuiet = false): string {
    const origin = this.#bindings.valueOf('providers');
    const named = origin === null ? value : value.replaceAll(origin, '{{providers}}');
    return named.replaceAll(UUID, (uuid) => {
      if (/^0{8}-/.test(uuid)) return uuid;
      const known = this.#known(uuid);
      if (known !== null)
        return this.#firstSeen.delete(uuid) ? `${known.slice(0, -2)}:uuid}}` : known;
      const singular = collectionOf(path).replace(/s$/, '');
      const made = this.#bound(this.#numbered(singular), uuid, 'uuid');
      if (isQuiet) this.#firstSeen.add(uuid);
      return made;
    });
  }

  /** Ids that are bound, and not yet written. */
  readonly #firstSeen = new Set<string>();

  #known(value: string): string | null {
    for (const [name, bound] of this.#bindings.entries())
      if (bound.value === value) return `{{${name}}}`;
    return null;
  }

  #owner({ id }: Readonly<Record<string, unknown>>): string {
    if (typeof id !== 'string') return '';
    return this.#known(id)?.slice(2, -2) ?? id;
  }

  #numbered(name: string): string {
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    return this.#bindings.valueOf(`${name}-${count}`) === null
      ? `${name}-${count}`
      : this.#numbered(name);
  }

  #bound(name: string, value: string, kind: string): string {
    this.#bindings.bind(name, value, kind);
    return `{{${name}:${kind}}}`;
  }
}

function collectionOf(path: string): string {
  return path.split(/[/?]/)[2] ?? 'record';
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
