// Routes that are added with the first request for an address that begins as theirs. A route costs
// hapi a third of a millisecond, there are hundreds, and most gateways are asked for few.

import type { RequestRoute, Server, ServerRoute } from '@hapi/hapi';

declare module '@hapi/hapi' {
  interface ServerApplicationState {
    /** What adds the routes that wait, by the beginning of their addresses. */
    lateRoutes?: Map<string, (() => void)[]>;
  }
}

/** Adds routes when they are asked for. An address must begin with a word that is no parameter. */
export function addLate(server: Server, routes: readonly ServerRoute[]): void {
  const late = (server.app.lateRoutes ??= new Map());
  for (const [beginning, own] of Map.groupBy(routes, ({ path }) => beginningOf(path))) {
    if (beginning.includes('{'))
      throw new Error(`${beginning} does not say which routes are asked`);
    const waiting = late.get(beginning) ?? [];
    late.set(beginning, [...waiting, () => server.route(own)]);
  }
}

/** Adds the routes that wait for an address; comes before a route is looked for. */
export function addAskedRoutes(server: Server, path: string): void {
  addWaiting(server, beginningOf(path));
}

/** Adds all routes that wait. */
export function addAllRoutes(server: Server): void {
  for (const beginning of server.app.lateRoutes?.keys() ?? []) addWaiting(server, beginning);
}

/** The page at an address; null if there is none. */
export function pageAt(server: Server, path: string): RequestRoute | null {
  addAskedRoutes(server, path);
  return server.match('get', path);
}

function addWaiting({ app: { lateRoutes } }: Server, beginning: string): void {
  const waiting = lateRoutes?.get(beginning) ?? [];
  lateRoutes?.delete(beginning);
  for (const add of waiting) add();
}

/** The first word of an address; of the API, the first two. */
function beginningOf(path: string): string {
  return /^\/(?:v0\/)?[^/]*/.exec(path)?.[0] ?? '';
}
