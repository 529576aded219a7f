// Bodies of strangers in memory: of all doors that read a body before they know who asks, together
// at most a budget of bytes. Only bytes that arrived count, and where they are too many the request
// that has been sending for the longest ends: an honest body is complete at once, so a client that
// stalls on purpose loses its place. How long a body may take is in body-pace.ts.

import type { Plugin, Request } from '@hapi/hapi';
import type { Counters } from '../process/counters.ts';

/** Bytes of such bodies that are held at once. */
const BUDGET_BYTES = 8_388_608;

interface Body {
  bytes: number;
  isWhole: boolean;
}

/** What `bodyBudget` needs. */
export interface BodyBudget {
  readonly counters: Counters;
  /** Left out: the one that serves. */
  readonly budgetBytes?: number;
}

/** Keeps the bodies of strangers within the budget. */
export const bodyBudget: Plugin<BodyBudget> = {
  name: 'body-budget',
  register(server, { counters, budgetBytes = BUDGET_BYTES }) {
    // In the order in which they began.
    const bodies = new Map<Request, Body>();
    let total = 0;
    const forget = (request: Request): void => {
      total -= bodies.get(request)?.bytes ?? 0;
      bodies.delete(request);
    };
    const makeRoom = (): void => {
      for (const [request, { isWhole }] of bodies) {
        if (total <= budgetBytes) return;
        if (isWhole) continue;
        forget(request);
        counters.add('requests_refused', 'strangers_bodies_full');
        request.raw.req.destroy();
      }
    };
    server.ext('onPreAuth', (request, h) => {
      if (['get', 'head', 'options'].includes(request.method) || isKnownBefore(request))
        return h.continue;
      const body: Body = { bytes: 0, isWhole: false };
      bodies.set(request, body);
      request.events.on('peek', (chunk: string | Buffer) => {
        // Bodies come after authentication.
        if (request.auth.isAuthenticated || !bodies.has(request)) return;
        body.bytes += chunk.length;
        total += chunk.length;
        makeRoom();
      });
      request.events.once('finish', () => (body.isWhole = true));
      return h.continue;
    });
    server.events.on('response', forget);
  },
};

/** Whether a body is only read once it is known who asks, as on all routes of the API. */
function isKnownBefore({ server, route }: Request): boolean {
  // Its types leave out what hapi documents.
  const auth = server.auth as typeof server.auth & {
    lookup(of: typeof route): { mode?: string } | false | undefined;
  };
  const access = auth.lookup(route);
  return access !== false && access?.mode === 'required';
}
