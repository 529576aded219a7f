// The routes of operations. Each is made of the operation alone: its method and path, the scopes
// that open it, its body, and the status and the headers of its answer. docs/api.md#operations.

import type {
  Request,
  ResponseObject,
  ResponseToolkit,
  RouteOptions,
  ServerRoute,
} from '@hapi/hapi';
import { callerOf } from '../kit/http/request-caller.ts';
import { parametersOf } from '../kit/validation/query.ts';
import type { Described, Operation, Pages, Performed } from '../kit/operations/operation.ts';
import { perform } from '../kit/operations/perform.ts';
import type { Scope } from '../kit/operations/scopes.ts';
import { withoutSecrets } from '../kit/records/secrets.ts';
import type { Shown } from '../kit/records/shown.ts';
import { ignoresBody, readJson, takesJson } from './body.ts';
import { answerList } from './lists.ts';
import { type ApiContext, outsidePath } from './routes.ts';

declare module '@hapi/hapi' {
  interface RouteOptionsApp {
    /** The scopes that open the operation beside `admin`. */
    scopes?: readonly Scope[];
  }
}

type Handler = NonNullable<ServerRoute['handler']>;

/** The routes of operations, which run in these rooms. What is only described has none here. */
export function operationRoutes<Rooms>(
  context: ApiContext,
  rooms: Rooms,
  operations: readonly Operation<Rooms>[],
): ServerRoute[] {
  return operations
    .filter((operation) => operation.kind !== 'described')
    .map((operation) => routeOf(operation, handlerOf(context, rooms, operation)));
}

/** The route of an operation that is only described. */
export function describedRoute<Asked>(operation: Described<Asked>, handler: Handler): ServerRoute {
  return routeOf(operation, handler);
}

function routeOf<Rooms>(operation: Operation<Rooms>, handler: Handler): ServerRoute {
  const { method, path, scopes } = operation;
  return {
    method: method === 'PATCH' ? ['PATCH', 'PUT'] : method,
    path,
    options: { ...bodyOptions(operation), app: { scopes } },
    handler,
  };
}

function bodyOptions<Rooms>(operation: Operation<Rooms>): RouteOptions {
  if (operation.method === 'GET') return {};
  const body = 'body' in operation ? operation.body : undefined;
  return body === undefined ? ignoresBody : takesJson(body.maxBytes);
}

function handlerOf<Rooms>(
  context: ApiContext,
  rooms: Rooms,
  operation: Exclude<Operation<Rooms>, { kind: 'described' }>,
): Handler {
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
    const csv = operation.kind === 'read' ? operation.csv : undefined;
    if (csv !== undefined && wantsCsv(request)) return asCsv(h, csv.fileName, csv.write(answer));
    const response = h.response({ data: answer });
    const place = operation.kind === 'write' ? operation.locationOf?.(answer as Shown) : undefined;
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
  operation: Pages<Rooms, unknown>,
  request: Request,
  h: ResponseToolkit,
): Promise<ResponseObject> {
  const sent = parametersOf(request.url.search);
  const params = paramsOf(request);
  const query = operation.query.read(sent);
  const { records, next: cursor } = await operation.page(rooms, { params, query });
  const data = callerOf(request).seesSecrets ? records : withoutSecrets(records);
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '');
  const response = h.response({ data: data as object });
  if (cursor === null) return response;
  sent.set('cursor', cursor);
  const next = `${outsidePath(services)}${path}?${sent.toString()}`;
  return response.header('link', `<${next}>; rel="next"`);
}

/** Whoever takes both gets JSON, unless the address says otherwise. */
function wantsCsv({ headers, url }: Request): boolean {
  const format = url.searchParams.get('format');
  if (format !== null) return format === 'csv';
  const accept: unknown = headers['accept'];
  if (typeof accept !== 'string') return false;
  return /text\/csv/i.test(accept) && !/application\/json/i.test(accept);
}

function asCsv(h: ResponseToolkit, fileName: string, text: string): ResponseObject {
  return h
    .response(text)
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${fileName}.csv"`);
}

function paramsOf({ params }: Request): Readonly<Record<string, string>> {
  return params as Record<string, string>;
}
