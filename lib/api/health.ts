// Says to programs that watch the process whether it lives and serves; open to everyone.

import type { Plugin } from '@hapi/hapi';
import type { Services } from '../services.ts';

/** Whether a path, as it was sent, is one of these. */
export function isHealth(path: string): boolean {
  return path === '/healthz' || path === '/readyz';
}

/** `GET /healthz` and `GET /readyz`. */
export const health: Plugin<Pick<Services, 'readiness'>> = {
  name: 'health',
  register(server, { readiness }) {
    const options = { auth: false as const };
    server.route([
      { method: 'GET', path: '/healthz', options, handler: () => ({ status: 'alive' }) },
      {
        method: 'GET',
        path: '/readyz',
        options,
        handler: (_request, h) => {
          const answer = readiness();
          return h.response(answer).code(answer.status === 'ready' ? 200 : 503);
        },
      },
    ]);
  },
};
