// Decides which clients are strangers to this server, for the gate before it. The parts of the
// doors, of `auth` and of the listener are put together here. docs/api.md#rate-limits.

import type { IncomingMessage } from 'node:http';
import type { Plugin } from '@hapi/hapi';
import { prefixOf } from '../../config/index.ts';
import { isHealth } from '../api/health.ts';
import { isOpenScrape } from '../api/metrics.ts';
import { type BearerOptions, findGoodOwner, somebodyOf } from '../api/bearer.ts';
import type { KnownGood } from '../auth/known-good.ts';
import { type Sessions, somebodyOf as somebodyOfSession } from '../auth/sessions.ts';
import { type StrangerOptions, Strangers } from '../auth/strangers.ts';
import { type FindAddress, isForwarded } from '../kit/http/client-address.ts';
import { withoutPrefix } from '../kit/http/conventions.ts';
import { type GateOptions, REFUSED_HEADERS, REFUSED_STATUS } from '../kit/http/gate.ts';
import type { TrustedProxies } from '../kit/http/trusted-proxies.ts';
import type { Metrics } from '../observe/metrics/index.ts';
import type { Counters } from '../kit/process/counters.ts';
import { type Assets, isCurrentAsset } from '../web/kit/assets.ts';

/** What strangers are recognised by. */
export interface StrangerSources
  extends Pick<BearerOptions, 'services' | 'recall'>, Pick<StrangerOptions, 'scopeOf'> {
  readonly sessions: Sessions;
  readonly known: KnownGood;
  readonly assets: Assets;
}

/** The strangers of one server. */
export function strangersOf(sources: StrangerSources): Strangers {
  const { services, recall, sessions, known, assets, scopeOf } = sources;
  const { config } = services;
  const prefix = prefixOf(config);
  return new Strangers({
    perSecond: config.apiRateLimit,
    nowMs: services.limitsNow,
    known,
    scopeOf,
    cookie: sessions.cookies.nameOf('session'),
    metricsToken: config.metricsToken,
    isFree(request) {
      if (request.method !== 'GET' && request.method !== 'HEAD') return false;
      const path = pathOf(request, prefix);
      return isHealth(path) || isCurrentAsset(assets, path) || isOpenScrape(path, request, config);
    },
    async find({ kind, sha256 }) {
      if (kind === 'session') {
        const session = await sessions.findBySha256(sha256);
        return session === null ? null : somebodyOfSession(session);
      }
      const owner = await findGoodOwner(sha256, { services, recall });
      return owner === null ? null : somebodyOf(owner);
    },
  });
}

/** What the gate of one server asks. */
export function gateOptions(
  keeper: Strangers,
  parts: {
    readonly counters: Counters;
    readonly proxies: TrustedProxies;
    readonly findAddress: FindAddress;
    readonly isTls: boolean;
    readonly metrics: Pick<Metrics, 'requests'>;
  },
): GateOptions {
  const { counters, proxies, findAddress, isTls, metrics } = parts;
  return {
    keeper,
    counters,
    addressOf: findAddress,
    isProxy: proxies.trustsPeer,
    mayBeProxy: proxies.standsForMany,
    isForwarded,
    isTls,
    onRefused: ({ method = '' }) =>
      metrics.requests.add({
        method: method.toLowerCase(),
        route: 'none',
        status: 429,
        seconds: 0,
      }),
  };
}

/** What `strangers` needs. */
export interface StrangersPlugin {
  readonly strangers: Strangers;
  readonly counters: Counters;
}

/** Checks requests that did not come by the listener, whose gate asks first: those of tests. */
export const strangers: Plugin<StrangersPlugin> = {
  name: 'strangers',
  register(server, { strangers: keeper, counters }) {
    server.ext('onRequest', async (request, h) => {
      const { req } = request.raw;
      if (keeper.hasChecked(req)) return h.continue;
      const refusal = await keeper.check(req, keeper.scopeOf(request.app.address ?? ''));
      if (refusal === null) return h.continue;
      counters.add('requests_refused', refusal.reason);
      const response = h.response(refusal.body).code(REFUSED_STATUS);
      for (const [name, value] of Object.entries(REFUSED_HEADERS)) response.header(name, value);
      return response.takeover();
    });
  },
};

/** The path of a request as it was sent, without the path of EXTERNAL_URL. */
function pathOf({ url = '' }: IncomingMessage, prefix: string): string {
  const [path = ''] = url.split('?', 1);
  return withoutPrefix(path, prefix);
}
