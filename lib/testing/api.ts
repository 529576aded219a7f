// The REST API as tests call it: by method and path, in the name of the administrator. An answer is
// its data; an error is thrown, with the message and the fields that the API named.

import type { Answer, Sent } from './requests.ts';

/** How a request gets to the gateway. */
export type SendRequest = (method: string, path: string, sent?: Sent) => Promise<Answer>;

/** The fields of a record. */
export type Fields = Record<string, unknown>;

/** The API refused a request. */
export class ApiRefusal extends Error {
  override name = 'ApiRefusal';
  /** Status of the answer. */
  readonly status: number;
  /** The answer's body: `{ errors: { field: [message] } }` for fields, `{ error: … }` else. */
  readonly body: unknown;

  constructor(method: string, path: string, { status, body, text }: Answer) {
    super(`${method} ${path} was answered ${status}: ${text}`);
    this.status = status;
    this.body = body;
  }
}

/** The API of one gateway. */
export class Api {
  readonly #send: SendRequest;

  constructor(send: SendRequest) {
    this.#send = send;
  }

  /** Reads a record or a list. */
  async get<T = Fields>(path: string): Promise<T> {
    return this.#call<T>('GET', path);
  }

  /** Makes a record: `post('/v0/rules', { rule: { … } })`. */
  async post<T = Fields>(path: string, body: object): Promise<T> {
    return this.#call<T>('POST', path, body);
  }

  /** Changes some fields of a record. */
  async patch<T = Fields>(path: string, body: object): Promise<T> {
    return this.#call<T>('PATCH', path, body);
  }

  /** Removes a record. */
  async delete(path: string): Promise<void> {
    await this.#call('DELETE', path);
  }

  async #call<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await this.#send(method, path, body === undefined ? {} : { body });
    if (answer.status >= 400) throw new ApiRefusal(method, path, answer);
    return (answer.body as { data: T } | null)?.data as T;
  }
}
