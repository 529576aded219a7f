// `GET /metrics`, for Prometheus, and who may read it. It names devices and their addresses, so it
// is not open to strangers. An API token of an administrator opens it, and METRICS_TOKEN, which
// opens nothing else. If METRICS_ACCESS is `loopback`, requests from this host need no token. Such
// a request must have no header of a proxy, and must ask for a name of this host: a page in a
// browser here could reach loopback under a name that its author made up.

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Plugin, Request } from '@hapi/hapi';
import type { Config } from '../../config/index.ts';
import { readToken, tokenCheck } from '../auth/bearer-token.ts';
import { EXPOSITION_TYPE } from '../observe/metrics/exposition.ts';
import type { Metrics } from '../observe/metrics/index.ts';
import type { Services } from '../services.ts';
import { cameByDoor } from '../kit/http/door.ts';
import { ApiError } from '../kit/http/errors.ts';

/** The most scrapes at once, because each takes CPU while it is read. */
const SCRAPES_MAX = 4;
/** Headers in which proxies name their client. */
const FORWARDED = /^(forwarded|via|x-forwarded(-.*)?|x-real-ip|x-client-ip|.*-connecting-ip)$/;
const LOOPBACK = /^(::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/;
const OWN_NAME = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i;

/** What the route needs. */
export interface MetricsOptions {
  readonly services: Pick<Services, 'config' | 'log'>;
  readonly metrics: Metrics;
}

/** Serves the metrics, and counts and logs every request that is answered. */
export const metricsRoute: Plugin<MetricsOptions> = {
  name: 'metrics',
  register(server, { services, metrics }) {
    const { config, log } = services;
    const began = new WeakMap<Request, number>();
    server.ext('onRequest', (request, h) => {
      began.set(request, performance.now());
      return h.continue;
    });
    server.events.on('response', (request) => {
      const seconds = (performance.now() - (began.get(request) ?? performance.now())) / 1_000;
      const answered = {
        method: request.method,
        route: routeOf(request),
        status: statusOf(request),
      };
      metrics.requests.add({ ...answered, seconds });
      const ms = Math.round(seconds * 1_000);
      log.debug({ request_id: request.app.id, ...answered, ms }, 'a request was answered');
    });
    server.ext('onPostStop', () => metrics.stop());
    if (config.metricsAccess === 'off') return;
    const isMetricsToken = tokenCheck(config.metricsToken);
    server.auth.scheme('metrics', () => ({
      async authenticate(request, h) {
        const isOpen = isLocal(request.raw.req, config) || isMetricsToken(readToken(request));
        if (isOpen) return h.authenticated({ credentials: {} });
        const { credentials } = await server.auth.test('administrator', request);
        return h.authenticated({ credentials });
      },
    }));
    server.auth.strategy('metrics', 'metrics');
    let scrapes = 0;
    server.route({
      method: 'GET',
      path: '/metrics',
      options: { auth: 'metrics', app: { scopes: ['metrics', 'read'] } },
      handler: (request, h) => {
        if (scrapes >= SCRAPES_MAX)
          throw new ApiError('too_many_requests', { reason: 'too_many_scrapes' });
        const response = h.response(request.method === 'head' ? '' : body());
        return response.code(200).type(EXPOSITION_TYPE).header('cache-control', 'no-store');
      },
    });

    function body(): Readable {
      const stream = Readable.from(metrics.text(), { objectMode: false });
      scrapes += 1;
      stream.once('close', () => (scrapes -= 1));
      return stream;
    }
  },
};

/** The path of the route as it was registered, so that there are few values. */
function routeOf({ route }: Request): string {
  return (route.method as string) === '_special' ? 'none' : route.path;
}

/** The status that was sent; 499 if the client did not wait for it. */
function statusOf({ response }: Request): number {
  // A request that was broken off has no response.
  const sent = response as typeof response | null;
  if (sent === null) return 499;
  return sent instanceof Error ? sent.output.statusCode : sent.statusCode;
}

/** Whether a request for the metrics needs no token, because it comes from this host. */
export function isOpenScrape(path: string, request: IncomingMessage, config: Config): boolean {
  return path === '/metrics' && isLocal(request, config);
}

/** True for a request that seems to come from this host and not through a proxy. */
function isLocal({ socket, headers }: IncomingMessage, { metricsAccess }: Config): boolean {
  if (metricsAccess !== 'loopback') return false;
  const { remoteAddress = '' } = socket;
  if (!LOOPBACK.test(remoteAddress) || cameByDoor(socket)) return false;
  if (Object.keys(headers).some((name) => FORWARDED.test(name))) return false;
  const host: unknown = headers['host'];
  return typeof host === 'string' && OWN_NAME.test(host);
}
