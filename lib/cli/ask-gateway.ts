// How commands ask the gateway that runs on this host: the API, at the socket in DATA_DIR.

import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Config } from '../../config/index.ts';
import type { Faults } from '../kit/validation/judge.ts';
import { isAddress, isSameAddress, isUuid } from '../kit/validation/texts.ts';
import { localSocketPath } from '../kit/process/local-socket-path.ts';
import { noDevice, noGroup, noRule, noUser } from '../kit/process/absent.ts';
import { commandLine } from '../kit/process/command-line.ts';
import { askSocket } from './ask-socket.ts';
import { type Hints, refusalOf } from './fault-words.ts';

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
  readonly #path: string;

  constructor(config: Pick<Config, 'dataDir'>) {
    this.#path = localSocketPath(config);
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
      return await askSocket(this.#path, { method, path, body });
    } catch (error) {
      throw new Error(sayUnreachable(this.#path, error as NodeJS.ErrnoException), { cause: error });
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

  /** The id of the user with an e-mail address. */
  async findUser(email: string): Promise<string> {
    const path = `/v0/users?email=${encodeURIComponent(email.trim())}`;
    const { data } = (await this.ask('GET', path)) as { data: { id: string }[] };
    const [user] = data;
    if (user === undefined) throw noUser(email);
    return user.id;
  }

  /** The id of the group that a person named by its id or its name. */
  async findGroup(named: string): Promise<string> {
    if (isUuid(named)) {
      if (await this.isAbsent(`/v0/groups/${named}`)) throw noGroup(named);
      return named;
    }
    const path = `/v0/groups?name=${encodeURIComponent(named.trim())}`;
    const { data } = (await this.ask('GET', path)) as { data: { id: string }[] };
    const [group] = data;
    if (group === undefined) throw noGroup(named);
    return group.id;
  }

  /** The id of a rule that is there. */
  async findRule(id: string): Promise<string> {
    if (await this.isAbsent(rulePath(id))) throw noRule(id);
    return id;
  }

  /** Whether nothing is at a path; false where the gateway cannot tell. */
  async isAbsent(path: string): Promise<boolean> {
    const response = await this.#send('GET', path);
    response.resume();
    return response.statusCode === 404;
  }

  /** The device that a person named by its id, its address in the tunnel or its name. */
  async findDevice(word: string): Promise<ShownDevice> {
    const device = await this.findDeviceIfAny(word);
    if (device === null) throw noDevice(word);
    return device;
  }

  /** The device with an id, an address in the tunnel or a name; null: there is none. */
  async findDeviceIfAny(word: string): Promise<ShownDevice | null> {
    if (isUuid(word)) return this.findDeviceById(word);
    const { data } = (await this.ask('GET', '/v0/devices')) as { data: ShownDevice[] };
    const isNamed = ({ name, ipv4, ipv6 }: ShownDevice): boolean => {
      if (!isAddress(word)) return name === word;
      return [ipv4, ipv6].some((own) => own !== null && isSameAddress(own, word));
    };
    const found = data.filter(isNamed);
    if (found.length > 1) throw await this.#severalDevices(found, word);
    return found[0] ?? null;
  }

  /** Why a name is not enough, and what to type in its place. */
  async #severalDevices(devices: readonly ShownDevice[], word: string): Promise<Error> {
    const shown = devices.slice(0, DEVICES_SHOWN).map(async ({ id, user_id, ipv4, ipv6 }) => {
      const path = `/v0/users/${user_id}`;
      const { data } = (await this.ask('GET', path)) as { data: { email: string } };
      return `${id} (${[`of ${data.email}`, ipv4 ?? ipv6].filter(Boolean).join(', ')})`;
    });
    const list = (await Promise.all(shown)).join(', ');
    const more =
      devices.length > DEVICES_SHOWN ? `, … all are in: ${commandLine('device list')}` : '';
    return new Error(
      `${devices.length} devices have the name ${word}; give the id or the address of one in its place: ${list}${more}`,
    );
  }

  /** The device with an id; null: there is none. */
  async findDeviceById(id: string): Promise<ShownDevice | null> {
    const response = await this.#send('GET', `/v0/devices/${encodeURIComponent(id)}`);
    const { statusCode = 0 } = response;
    const body = await text(response);
    if (statusCode === 404) return null;
    if (statusCode >= 400) throw refusal(statusCode, body, {});
    return (JSON.parse(body) as { data: ShownDevice }).data;
  }
}

/** Where the API has a rule. */
export function rulePath(id: string): string {
  return `/v0/rules/${encodeURIComponent(id)}`;
}

/** So many devices fit into a sentence. */
const DEVICES_SHOWN = 5;

function sayUnreachable(path: string, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'EACCES')
    return `${path} may not be opened; run this as the account of the gateway, or as root`;
  if (code === 'ENOENT' || code === 'ECONNREFUSED')
    return `no gateway runs here (nothing listens at ${path}); run this on the host of the gateway, with its DATA_DIR`;
  return `the gateway did not answer at ${path}: ${message}`;
}

/** What a gateway answers to what it refuses. */
interface Refusal {
  readonly errors?: Readonly<Record<string, unknown[]>>;
  readonly error_codes?: Faults;
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
