// The operations that users, devices and rules have in common, one table of routes for all of them:
// which method and path, what body, which status. What a record is and may be, the resource says.
// api.md, section 1.

import type { Request, RouteOptions, ServerRoute } from '@hapi/hapi';
import type { Services } from '../services.ts';
import { ignoresBody, judgedBody, takesBody } from './body.ts';
import type { Judge, Judged } from './judge.ts';
import type { Recall, Source } from './recall.ts';
import type { FixedSettings } from './v0/effective-configuration.ts';
import type { Writes } from './writes.ts';

/** Longer lists, in characters, are read anew for each request. */
const REMEMBERED_LIST_MAX = 4_000_000;

/** What the resources of one server share. */
export interface ApiContext {
  readonly services: Services;
  readonly recall: Recall;
  readonly writes: Writes;
  /** What the environment fixes of the configuration. */
  readonly fixed: FixedSettings;
}

/** A record as it is shown. */
export type Shown = Record<string, unknown>;

/** A kind of records, and what happens to them. An unknown id is an ApiError, `not_found`. */
export interface Collection<Values> {
  /** In paths: `users`. */
  readonly name: string;
  /** In bodies: `user`. */
  readonly wrapper: string;
  readonly judge: Judge<Values>;
  /** The tables that a list is made of. */
  readonly sources: readonly Source[];
  /** How long a list may be remembered, where it shows what leaves no changes. */
  readonly keepMs?: number;
  list(): Promise<Shown[]>;
  show(id: string): Promise<Shown>;
  create(request: Request, input: Judged<Values>): Promise<Shown>;
  update(request: Request, id: string, input: Judged<Values>): Promise<Shown>;
  remove(request: Request, id: string): Promise<void>;
}

/** The routes of a collection. */
export function collectionRoutes<Values>(
  { services, recall }: ApiContext,
  collection: Collection<Values>,
): ServerRoute[] {
  const { name, wrapper, judge } = collection;
  const all = `/v0/${name}`;
  const one = `/v0/${name}/{id}`;
  // Where EXTERNAL_URL has a path, `Location` begins with it.
  const outside = new URL(services.config.externalUrl).pathname.replace(/\/$/, '');
  const creates = takesBody({ wrapper, judge, mode: 'create' });
  const updates = takesBody({ wrapper, judge, mode: 'update' });
  return [
    route('GET', all, {}, async (_request, h) =>
      h.response(await listText(recall, collection)).type('application/json'),
    ),
    route('POST', all, creates, async (request, h) => {
      const shown = await collection.create(request, judgedBody<Values>(request));
      return h.response({ data: shown }).created(`${outside}${all}/${String(shown['id'])}`);
    }),
    route('GET', one, {}, async (request) => ({ data: await collection.show(idOf(request)) })),
    route(['PATCH', 'PUT'], one, updates, async (request) => ({
      data: await collection.update(request, idOf(request), judgedBody<Values>(request)),
    })),
    route('DELETE', one, ignoresBody, async (request, h) => {
      await collection.remove(request, idOf(request));
      return h.response().code(204);
    }),
  ];
}

/** A list as JSON: writing it out takes as long as reading it, so the text is remembered. */
async function listText<Values>(recall: Recall, collection: Collection<Values>): Promise<string> {
  const { name, sources, keepMs = Number.POSITIVE_INFINITY } = collection;
  const text = await recall.read(`list of ${name}`, async () => {
    const value = JSON.stringify({ data: await collection.list() });
    return { value, sources, keepMs: value.length > REMEMBERED_LIST_MAX ? 0 : keepMs };
  });
  return text ?? '';
}

/** A point in time as it is shown: UTC, always six digits. */
export function showTime(time: Date): string {
  // JavaScript knows milliseconds; the last three digits are zeros.
  return `${time.toISOString().slice(0, -1)}000Z`;
}

/** As `showTime`, for a time that may be unknown. */
export function showTimeOrNull(time: Date | null): string | null {
  return time === null ? null : showTime(time);
}

/** One route; the options are those of its body. */
export function route(
  method: 'GET' | 'POST' | 'DELETE' | ('PATCH' | 'PUT')[],
  path: string,
  options: RouteOptions,
  handler: NonNullable<ServerRoute['handler']>,
): ServerRoute {
  return { method, path, options, handler };
}

function idOf(request: Request): string {
  return String(request.params['id']);
}
