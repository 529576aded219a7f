// The routes of operations. Each is made of the operation alone: its method and path, the scopes
// that open it, its body, and the status and the headers of its answer. docs/api.md#operations.

import type { Request, ResponseToolkit, RouteOptions, ServerRoute } from '@hapi/hapi';
import { callerOf } from '../http/request-caller.ts';
import { parametersOf } from '../judge/query.ts';
import { LIMIT_DEFAULT } from '../operations/id-pages.ts';
import type { Operation, Pages, Performed } from '../operations/operation.ts';
import { perform } from '../operations/perform.ts';
import type { Scope } from '../operations/scopes.ts';
import { withoutSecrets } from '../records/secrets.ts';
import type { Shown } from '../records/shown.ts';
import { ignoresBody, readJson, takesJson } from './body.ts';
import { withNextPage } from './id-pages.ts';
import { answerList } from './lists.ts';
import { type ApiContext, outsidePath } from './routes.ts';

declare module '@hapi/hapi' {
  interface RouteOptionsApp {
    /** The scopes that open the operation beside `admin`. */
    scopes?: readonly Scope[];
  }
}

/** The routes of operations, which run in these rooms. */
export function operationRoutes<Rooms>(
  context: ApiContext,
  rooms: Rooms,
  operations: readonly Operation<Rooms>[],
): ServerRoute[] {
  return operations.map((operation) => ({
    method: operation.method === 'PATCH' ? ['PATCH', 'PUT'] : operation.method,
    path: operation.path,
    options: { ...bodyOptions(operation), app: { scopes: operation.scopes } },
    handler: handlerOf(context, rooms, operation),
  }));
}

function bodyOptions<Rooms>(operation: Operation<Rooms>): RouteOptions {
  if (operation.method === 'GET') return {};
  const body = 'body' in operation ? operation.body : undefined;
  return body === undefined ? ignoresBody : takesJson(body.maxBytes);
}

function handlerOf<Rooms>(
  context: ApiContext,
  rooms: Rooms,
  operation: Operation<Rooms>,
): NonNullable<ServerRoute['handler']> {
  const outside = outsidePath(context.services);
  if (operation.kind === 'list') {
    const { recall, turns, services } = context;
    const lists = { recall, turns, log: services.log, outside };
    const listed = operation.listed(rooms);
    return (request, h) => answerList(lists, listed, request, h);
  }
  if (operation.kind === 'pages')
    return (request, h) => answerPage(context, rooms, operation, request, h);
  return async (request, h) => {
    const answer = await perform(operation, rooms, callerOf(request), sentBy(request, operation));
    if (answer === null) return h.response().code(204);
    const response = h.response({ data: answer });
    const place = operation.kind === 'write' ? operation.placeOf?.(answer as Shown) : undefined;
    return place === undefined ? response : response.created(outside + place);
  };
}

function sentBy<Rooms>(
  request: Request,
  operation: Performed<Rooms>,
): Parameters<typeof perform>[3] {
  return {
    params: paramsOf(request),
    query: parametersOf(request.url.search),
    body: operation.body === undefined ? undefined : readJson(request),
  };
}

async function answerPage<Rooms>(
  { services }: ApiContext,
  rooms: Rooms,
  operation: Pages<Rooms, { limit?: number; cursor?: string }>,
  request: Request,
  h: ResponseToolkit,
): ReturnType<typeof answerList> {
  const sent = parametersOf(request.url.search);
  const query = operation.query.read(sent);
  const { limit = LIMIT_DEFAULT, cursor: afterId = null } = query;
  const params = paramsOf(request);
  // One more record is read than was asked for: if it exists, there is a next page.
  const found = await operation.page(rooms, { params, query, afterId, limit: limit + 1 });
  const rows = found.slice(0, limit);
  const data = callerOf(request).seesSecrets ? rows : withoutSecrets(rows);
  const cursor = found.length > limit ? String(rows.at(-1)?.['id']) : null;
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '');
  return withNextPage(h.response({ data: data as object }), services, { path, sent, cursor });
}

function paramsOf({ params }: Request): Readonly<Record<string, string>> {
  return params as Record<string, string>;
}
