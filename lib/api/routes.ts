// The operations that users, devices and rules have in common, one table of routes for all of them:
// which method and path, what body, which status. What a record is and may be, the resource says.
// docs/api.md#operations.

import type { Request, RouteOptions, ServerRoute } from '@hapi/hapi';
import type { Services } from '../services.ts';
import { ignoresBody, judgedBody, takesBody } from './body.ts';
import type { Judge, Judged } from '../judge/judge.ts';
import type { Shown } from '../records/shown.ts';
import { answerList, type Listed } from './lists.ts';
import type { Recall } from '../records/recall.ts';
import type { FixedSettings } from '../records/effective-configuration.ts';
import type { ListTurns } from './list-turns.ts';
import type { Writes } from '../records/writes.ts';

/** What the resources of one server share. */
export interface ApiContext {
  readonly services: Services;
  readonly recall: Recall;
  readonly writes: Writes;
  readonly turns: ListTurns;
  /** What the environment fixes of the configuration. */
  readonly fixed: FixedSettings;
}

/** A kind of records, and what happens to them. An unknown id is an ApiError, `not_found`. */
export interface Collection<Values> extends Listed {
  /** In bodies: `user`. */
  readonly wrapper: string;
  readonly judge: Judge<Values>;
  show(id: string): Promise<Shown>;
  create(request: Request, input: Judged<Values>): Promise<Shown>;
  update(request: Request, id: string, input: Judged<Values>): Promise<Shown>;
  remove(request: Request, id: string): Promise<void>;
}

/** The routes of a collection. */
export function collectionRoutes<Values>(
  { services, recall, turns }: ApiContext,
  collection: Collection<Values>,
): ServerRoute[] {
  const { name, wrapper, judge } = collection;
  const all = `/v0/${name}`;
  const one = `/v0/${name}/{id}`;
  // Where EXTERNAL_URL has a path, `Location` begins with it.
  const outside = outsidePath(services);
  const lists = { recall, turns, log: services.log, outside };
  const creates = takesBody({ wrapper, judge, mode: 'create' });
  const updates = takesBody({ wrapper, judge, mode: 'update' });
  return [
    route('GET', all, {}, (request, h) => answerList(lists, collection, request, h)),
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

/** The path of EXTERNAL_URL, without its last slash. */
export function outsidePath({ config }: Pick<Services, 'config'>): string {
  return new URL(config.externalUrl).pathname.replace(/\/$/, '');
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
