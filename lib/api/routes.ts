// The operations that users, devices and rules have in common, one table of routes for all of them:
// which method and path, what body, which status. What a record is and may be, the resource says.
// docs/api.md#operations.

import type { Request, RouteOptions, ServerRoute } from '@hapi/hapi';
import { outsidePathOf } from '../../config/index.ts';
import type { Captures } from '../capture/captures.ts';
import { callerOf } from '../http/request-caller.ts';
import type { Services } from '../services.ts';
import { ignoresBody, judgedBody, takesBody } from './body.ts';
import type { Collection, RecordContext } from '../records/collection.ts';
import { answerList } from './lists.ts';
import type { ListTurns } from './list-turns.ts';

/** What the operations of one server share. */
export interface ApiContext extends RecordContext {
  readonly services: Services;
  readonly turns: ListTurns;
  readonly captures: Captures;
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
      const shown = await collection.create(
        callerOf(request),
        judgedBody<Values>(request),
        isForced(request),
      );
      return h.response({ data: shown }).created(`${outside}${all}/${String(shown['id'])}`);
    }),
    route('GET', one, {}, async (request) => ({ data: await collection.show(idOf(request)) })),
    route(['PATCH', 'PUT'], one, updates, async (request) => ({
      data: await collection.update(
        callerOf(request),
        idOf(request),
        judgedBody<Values>(request),
        isForced(request),
      ),
    })),
    route('DELETE', one, ignoresBody, async (request, h) => {
      await collection.remove(callerOf(request), idOf(request));
      return h.response().code(204);
    }),
  ];
}

/** The path of EXTERNAL_URL, without its last slash. */
export function outsidePath({ config }: Pick<Services, 'config'>): string {
  return outsidePathOf(config);
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

/** Whether the sender of a request insists on a write that makes policy tests fail. */
export function isForced({ query }: Pick<Request, 'query'>): boolean {
  return query['force'] === 'true';
}

function idOf(request: Request): string {
  return String(request.params['id']);
}
