// A browser, as a server sees it: it keeps cookies, notes where it is sent, and fills in the
// forms that it was shown. It runs no script; for that see browser.ts.

import type { Server } from '@hapi/hapi';
import { hashPassword } from '../../../lib/auth/passwords.ts';
import { type Database, emailKey, type User, writeTransaction } from '../../../models/index.ts';
import type { TestServer } from '../api/server.ts';

/** A request as `inject` takes it, as far as visitors use it. */
interface InjectOptions {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly payload?: string;
}

/** The answer that a visitor got. */
export interface Shown {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** The target of a redirect; null if there is none. */
  location: string | null;
}

/** The password of users that `addPerson` creates. */
export const PASSWORD = 'correct horse battery';

/** One browser. */
export class Visitor {
  readonly cookies = new Map<string, string>();
  /** Sent with each request; a test may add some. */
  headers: Record<string, string> = { accept: 'text/html', host: '127.0.0.1:13000' };
  /** The token of the page that was shown last. */
  token = '';
  readonly #server: Server;

  constructor({ server }: Pick<TestServer, 'server'>) {
    this.#server = server;
  }

  /** Opens a page. */
  get(path: string): Promise<Shown> {
    return this.send('GET', path);
  }

  /** Sends a form with the token of the page that was shown last. */
  post(path: string, fields: Record<string, string> = {}): Promise<Shown> {
    return this.send('POST', path, { csrf_token: this.token, ...fields });
  }

  /** Sends a form in which one field has several values, as with checkboxes. */
  postPairs(path: string, fields: readonly (readonly [string, string])[]): Promise<Shown> {
    const pairs = [['csrf_token', this.token], ...fields].map(([name, value]) => [name, value]);
    return this.send('POST', path, pairs as [string, string][]);
  }

  async send(
    method: string,
    path: string,
    fields?: Record<string, string> | [string, string][],
  ): Promise<Shown> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await this.#server.inject({
      method,
      url: path,
      headers: {
        ...this.headers,
        ...(cookie === '' ? {} : { cookie }),
        ...(fields === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(fields === undefined ? {} : { payload: new URLSearchParams(fields).toString() }),
    });
    const headers = response.headers as Shown['headers'];
    this.#keep(headers['set-cookie']);
    const [, token] = /name="csrf-token" content="([^"]+)"/.exec(response.payload) ?? [];
    if (token !== undefined) this.token = token;
    const location = typeof headers['location'] === 'string' ? headers['location'] : null;
    return { status: response.statusCode, headers, text: response.payload, location };
  }

  /** Signs in by the form; returns the answer to it. */
  signIn(email: string, password = PASSWORD, returnTo?: string): Promise<Shown> {
    return inLane(() => this.#signIn(email, password, returnTo));
  }

  async #signIn(email: string, password: string, returnTo: string | undefined): Promise<Shown> {
    await this.get('/');
    const to = returnTo === undefined ? {} : { return_to: returnTo };
    return this.post('/auth/identity/callback', { email, password, ...to });
  }

  #keep(lines: string | string[] | undefined): void {
    for (const line of [lines ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0/i.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
  }
}

/**
 * Sign-ins of all tests of a process are from one address, of which eight at most may wait for
 * their password: so four go on at once.
 */
const lanes: Promise<unknown>[] = Array.from({ length: 4 }, () => Promise.resolve());
let nextLane = 0;

function inLane<T>(work: () => Promise<T>): Promise<T> {
  nextLane = (nextLane + 1) % lanes.length;
  const done = lanes[nextLane]!.then(work);
  lanes[nextLane] = done.catch(() => undefined);
  return done;
}

/** The place of visits when the server is another process. */
export function atGateway(url: string): Pick<TestServer, 'server'> {
  const inject = async ({ method, url: path, headers, payload }: InjectOptions) => {
    // The host comes from fetch.
    const { host: _other, ...sent } = headers;
    const response = await fetch(url + path, {
      method,
      headers: sent,
      redirect: 'manual',
      ...(payload === undefined ? {} : { body: payload }),
    });
    return {
      statusCode: response.status,
      headers: {
        ...Object.fromEntries(response.headers),
        'set-cookie': response.headers.getSetCookie(),
      },
      payload: await response.text(),
    };
  };
  return { server: { inject } as unknown as Server };
}

/** Ends all sessions after a form's browser was known and before its handler runs. */
export function endSessionsBefore({ server, database }: TestServer, path: string): void {
  server.ext('onPreHandler', async (request, h) => {
    if (request.method === 'post' && request.path === path)
      await database.models.Session.destroy({ where: {} });
    return h.continue;
  });
}

/** Creates a user who has a password. */
export async function addPerson(
  database: Database,
  email: string,
  values: Partial<User> = {},
): Promise<User> {
  const password_hash = await hashPassword(PASSWORD, 4);
  const { result } = await writeTransaction(database, (transaction) =>
    database.models.User.create({ email, password_hash, ...values }, { transaction }),
  );
  return result;
}

/** The user with an e-mail, as the database has them. */
export async function personOf(database: Database, email: string): Promise<User> {
  return database.models.User.findOne({
    where: { email_key: emailKey(email) },
    rejectOnEmpty: true,
  });
}
