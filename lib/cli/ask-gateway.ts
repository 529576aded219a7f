// How commands ask the gateway that runs on this host: the API, at the socket in DATA_DIR.

import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Config } from '../../config/index.ts';
import type { DeviceNaming, NamedByIdEnd } from '../../models/index.ts';
import type { Errors } from '../kit/validation/validate.ts';
import { isSameAddress } from '../kit/validation/texts.ts';
import { setAsService } from '../kit/database/place.ts';
import { localSocketPath } from '../kit/process/local-socket-path.ts';
import { commandLine } from '../kit/process/command-line.ts';
import { askSocket } from './ask-socket.ts';
import { type Hints, refusalOf } from './error-words.ts';
import { findsBy, type Search } from './naming.ts';
import type { Finds, Named } from './row.ts';
import type { ShownRule } from './rule-words.ts';

/** A device, as the API shows it. */
export interface ShownDevice {
  readonly id: string;
  readonly name: string;
  readonly user_id: string;
  readonly ipv4: string | null;
  readonly ipv6: string | null;
}

/** The gateway that runs on this host. */
export class LocalGateway {
  readonly #config: Pick<Config, 'dataDir'>;

  constructor(config: Pick<Config, 'dataDir'>) {
    this.#config = config;
  }

  /**
   * Asks, and gives the whole answer, read from JSON. Throws a sentence for a person where the
   * gateway refuses or none runs; `hints` say what can be typed for a field.
   */
  async ask(method: 'GET' | 'POST', path: string, body?: object, hints?: Hints): Promise<unknown> {
    const response = await this.open(method, path, body, hints);
    return JSON.parse(await text(response)) as unknown;
  }

  /** Asks, and gives the answer while it arrives. The caller ends it by destroying it. */
  async open(
    method: 'GET' | 'POST',
    path: string,
    body?: object,
    hints: Hints = {},
  ): Promise<IncomingMessage> {
    const response = await this.#send(method, path, body);
    const { statusCode = 0 } = response;
    if (statusCode >= 400) throw refusal(statusCode, await text(response), hints);
    return response;
  }

  async #send(method: 'GET' | 'POST', path: string, body?: object): Promise<IncomingMessage> {
    try {
      return await askSocket(localSocketPath(this.#config), { method, path, body });
    } catch (error) {
      const said = sayUnreachable(this.#config, error as NodeJS.ErrnoException);
      throw new Error(said, { cause: error });
    }
  }

  /** Asks for a page of a list; `next` is the path of the next page, null on the last one. */
  async page(path: string, hints?: Hints): Promise<{ data: unknown[]; next: string | null }> {
    const response = await this.open('GET', path, undefined, hints);
    const { data } = JSON.parse(await text(response)) as { data: unknown[] };
    // Where EXTERNAL_URL has a path, the link begins with it, and the gateway is asked without it.
    const link = String(response.headers.link ?? '');
    const [, next] = /<[^>]*?(\/v0\/[^>]*)>; rel="next"/.exec(link) ?? [];
    return { data, next: next ?? null };
  }

  /** Finds what somebody named; throws a sentence where nothing, or more than one, is meant. */
  get finds(): Finds {
    return findsBy(this.#search);
  }

  get #search(): Search {
    return {
      devices: async (naming) => {
        if (!('id' in naming)) return (await this.#list('devices')).filter(isNamedBy(naming));
        const device = await this.findDeviceById(naming.id);
        return device === null ? [] : [device];
      },
      user: async (by) => {
        if ('id' in by) return userOf(await this.#record(`/v0/users/${by.id}`));
        const query = new URLSearchParams({ email: by.email.trim() });
        return userOf((await this.#list(`users?${query.toString()}`))[0] ?? null);
      },
      group: async (by) => {
        if ('id' in by) return this.#record<Named>(`/v0/groups/${by.id}`);
        const query = new URLSearchParams({ name: by.name.trim() });
        return (await this.#list<Named>(`groups?${query.toString()}`))[0] ?? null;
      },
      // A gateway that cannot tell says why when it is asked more.
      hasRule: async (id) => !(await this.isAbsent(rulePath(id))),
      idsEnding: async (kind, end) => {
        const list = LISTS[kind];
        const records = list === null ? [] : await this.#list(list);
        return records.map(({ id }) => id).filter((id) => id.endsWith(end));
      },
    };
  }

  async #list<Record = ShownDevice>(path: string): Promise<Record[]> {
    return ((await this.ask('GET', `/v0/${path}`)) as { data: Record[] }).data;
  }

  /** Whether nothing is at a path; false where the gateway cannot tell. */
  async isAbsent(path: string): Promise<boolean> {
    const response = await this.#send('GET', path);
    response.resume();
    return response.statusCode === 404;
  }

  /** The device with an id; null: there is none. */
  findDeviceById(id: string): Promise<ShownDevice | null> {
    return this.#record(`/v0/devices/${encodeURIComponent(id)}`);
  }

  /** The rule with an id; null: there is none. */
  findRuleById(id: string): Promise<ShownRule | null> {
    return this.#record<ShownRule>(rulePath(id));
  }

  /** What is at a path; null: nothing. */
  async #record<Record = ShownDevice>(path: string): Promise<Record | null> {
    const response = await this.#send('GET', path);
    const { statusCode = 0 } = response;
    const body = await text(response);
    if (statusCode === 404) return null;
    if (statusCode >= 400) throw refusal(statusCode, body, {});
    return (JSON.parse(body) as { data: Record }).data;
  }
}

/** Where the API lists records; null: only their owner can list them. */
const LISTS: Readonly<Record<NamedByIdEnd, string | null>> = {
  User: 'users',
  Group: 'groups',
  Rule: 'rules',
  PolicyTest: 'policy_tests',
  ApiToken: null,
};

function userOf(user: { readonly id: string; readonly email?: string } | null): Named | null {
  return user === null ? null : { id: user.id, name: user.email ?? '' };
}

function isNamedBy(naming: Exclude<DeviceNaming, { readonly id: string }>) {
  return ({ id, name, user_id, ipv4, ipv6 }: ShownDevice): boolean => {
    if ('idEnd' in naming) return id.endsWith(naming.idEnd);
    if ('name' in naming) return name === naming.name && (naming.ownerId ?? user_id) === user_id;
    return [ipv4, ipv6].some((own) => own !== null && isSameAddress(own, naming.address));
  };
}

const ELSEWHERE = 'run this on the host of the gateway, with its DATA_DIR';

/** Where the API has a rule. */
export function rulePath(id: string): string {
  return `/v0/rules/${encodeURIComponent(id)}`;
}

function sayUnreachable(
  config: Pick<Config, 'dataDir'>,
  { code, message }: NodeJS.ErrnoException,
): string {
  const path = localSocketPath(config);
  if (code === 'EACCES')
    return `${path} may not be opened; run this as the account of the gateway, or as root`;
  if (code === 'ENOENT' || code === 'ECONNREFUSED')
    return `no gateway runs here (nothing listens at ${path}); ${setAsService(config) ?? ELSEWHERE}`;
  return `the gateway did not answer at ${path}: ${message}`;
}

/** What a gateway answers to what it refuses. */
interface Refusal {
  readonly errors?: Readonly<Record<string, unknown[]>>;
  readonly error_codes?: Errors;
  readonly error?: string;
  readonly detail?: string;
}

function refusal(status: number, body: string, hints: Hints): Error {
  let answer: Refusal = {};
  try {
    answer = JSON.parse(body) as Refusal;
  } catch {
    // What is no JSON has no words for people.
  }
  const { errors, error_codes: codes, detail } = answer;
  if (detail !== undefined) return new Error(detail);
  if (codes !== undefined) return refusalOf(codes, hints);
  // A gateway of another version may send sentences alone.
  if (errors !== undefined) return new Error(inOneLine(errors));
  return new Error(sayRefusal(status, answer.error ?? ''));
}

function inOneLine(errors: Readonly<Record<string, unknown[]>>): string {
  return Object.entries(errors)
    .flatMap(([field, texts]) => texts.map((text) => `${field}: ${String(text)}`))
    .join('; ');
}

function sayRefusal(status: number, error: string): string {
  if (status === 404) return `there is nothing of that name; see: ${commandLine('help')}`;
  if (error === 'service_unavailable')
    return `the database of the gateway does not answer or is too busy, and devices go on meanwhile; try again, or run: ${commandLine('doctor')}`;
  const word = error.replaceAll('_', ' ');
  return `the gateway refused with ${status} ${word}`.trimEnd();
}
