// The HTTP server. A request passes these steps in their order, most of them hapi's own: the gate
// for strangers (check-strangers.ts) → id and path (conventions) → route → who asks (bearer) → body
// (body.ts) → operation (operations/perform.ts), or handler (v0) → wait until a write is in force →
// errors (errors.ts) → headers of the answer (conventions). A page takes the same way: its session
// (auth/sessions.ts) in place of the token, its form (web/kit/form-token.ts) in place of the body.

import Hapi, { type Server } from '@hapi/hapi';
import { type Config, prefixOf } from '../../config/index.ts';
import { Captures } from '../observe/capture/captures.ts';
import { undeclaredLengths } from '../api/body.ts';
import { forCommands } from '../api/commands.ts';
import { bodyBudget } from '../kit/http/body-budget.ts';
import { addressFinder, clientAddress } from '../kit/http/client-address.ts';
import { conventions } from '../kit/http/conventions.ts';
import { docs } from '../api/docs.ts';
import { ApiError, errorAnswers } from '../kit/http/errors.ts';
import { guardListener } from '../kit/http/gate.ts';
import { health } from '../api/health.ts';
import { addAskedRoutes } from '../kit/http/late-routes.ts';
import { inForce } from '../kit/http/in-force.ts';
import {
  answerClientErrors,
  answerExpectations,
  createListener,
  HTTP_LIMITS,
} from '../kit/http/listener.ts';
import { openApi } from '../api/openapi/index.ts';
import { metricsRoute } from '../api/metrics.ts';
import { Recall } from '../kit/records/recall.ts';
import { makeRooms } from '../rooms.ts';
import { outsidePath } from '../api/routes.ts';
import { throughTunnel } from '../kit/http/through-tunnel.ts';
import { TunnelAddresses } from '../kit/http/tunnel-addresses.ts';
import { TrustedProxies } from '../kit/http/trusted-proxies.ts';
import { UnnamedProxies } from '../kit/http/unnamed-proxies.ts';
import { readCertificate } from '../kit/http/tls.ts';
import { fixedSettingsOf } from '../domain/configuration/fixed-settings.ts';
import { v0 } from '../api/v0/index.ts';
import { giveWayToWrites, ListTurns } from '../api/list-turns.ts';
import { Writes } from '../kit/records/writes.ts';
import { bearer } from '../api/bearer.ts';
import { KnownGood } from '../auth/known-good.ts';
import { Sessions } from '../auth/sessions.ts';
import type { Console } from './add-pages.ts';
import { gateOptions, strangers, strangersOf } from './check-strangers.ts';
import { Metrics } from '../observe/metrics/index.ts';
import type { Services } from '../services.ts';
import { personAnswers } from '../web/kit/errors.ts';
import { guardPages, isWeb } from '../web/kit/headers.ts';
import { Pages } from '../web/kit/answers.ts';

/**
 * Makes the server; it does not listen yet, and requests can be injected. Its routes are added with
 * the first request for one.
 */
export function createServer(services: Services): Server {
  const { config, database, log, counters } = services;
  const limits = { ...HTTP_LIMITS, ...services.httpLimits };
  const proxies = new TrustedProxies(config, log);
  const certificate = readCertificate(config);
  const isProxy = proxies.standsForMany;
  const { scopeOf } = new TunnelAddresses(config);
  const listener = createListener({ limits, counters, log, isProxy, scopeOf, tls: certificate });
  const server = Hapi.server({
    listener,
    tls: certificate !== null,
    host: config.httpHost,
    port: config.httpPort,
    // Errors are logged by errors.ts, without what they may hold.
    debug: false,
    // Answers hold keys: beside what an attacker chooses, compression would tell about them.
    compression: false,
    router: { stripTrailingSlash: true },
    routes: {
      cors: false,
      payload: { timeout: limits.requestMs },
      response: { ranges: false },
      state: { parse: false, failAction: 'ignore' },
    },
  });
  const fixed = fixedSettingsOf(config);
  const recall = new Recall(database, fixed);
  const writes = new Writes(database);
  const captures = new Captures(services);
  const outside = outsidePath(services);
  const known = new KnownGood(services.limitsNow);
  const sessions = new Sessions(services, known);
  const pages = new Pages({ database, recall, sessions, outside });
  const metrics = new Metrics({ ...services, captures: () => captures.counts });
  const keeper = strangersOf({ services, recall, sessions, known, assets: pages.assets, scopeOf });
  // A plugin whose `register` is synchronous is registered when the call returns.
  void server.register({
    plugin: errorAnswers,
    options: { config, log, counters, answerPerson: personAnswers(pages, services.readiness) },
  });
  answerClientErrors(listener, counters);
  answerExpectations(listener, counters);
  const isTls = certificate !== null;
  const findAddress = addressFinder(proxies);
  guardListener(listener, gateOptions(keeper, { counters, proxies, findAddress, isTls, metrics }));
  void server.register({ plugin: conventions, options: { prefix: prefixOf(config) } });
  addRoutesWhenAsked(server, config, () => web);
  void server.register({ plugin: undeclaredLengths });
  void server.register({ plugin: bodyBudget, options: { counters } });
  const unnamed = new UnnamedProxies(log);
  void server.register({ plugin: clientAddress, options: { find: findAddress, proxies, unnamed } });
  void server.register({ plugin: strangers, options: { strangers: keeper, counters } });
  const isBehindDevice = services.observed?.isBehindDevice ?? (() => false);
  void server.register({ plugin: throughTunnel, options: { config, proxies, isBehindDevice } });
  void server.register({ plugin: inForce, options: services });
  void server.register({ plugin: bearer, options: { services, recall, strangers: keeper, known } });
  void server.register({ plugin: metricsRoute, options: { services, metrics } });
  void server.register({ plugin: health, options: services });
  void server.register({ plugin: openApi, options: { outside } });
  void server.register({ plugin: docs, options: { outside } });
  const turns = new ListTurns();
  giveWayToWrites(server, turns);
  server.ext('onPreStop', () => captures.stop());
  const rooms = makeRooms({ services, recall, writes, fixed });
  const all = { services, recall, fixed, captures, rooms };
  void server.register({ plugin: v0, options: { ...all, writes, turns } });
  void server.register({ plugin: forCommands, options: { config, services, rooms } });
  const web = { ...all, sessions, strangers: keeper, pages, unnamed, outside };
  return server;
}

/**
 * Adds the console with the first request for a page, and each route with the first request for one
 * like it: after the conventions, which repair the path, and before whatever may refuse the
 * request: its page of an error has the headers of all pages, too, even if the console cannot come.
 */
function addRoutesWhenAsked(server: Server, config: Config, consoleOf: () => Console): void {
  guardPages(server, config);
  let added: Promise<void> | null = null;
  let isStopping = false;
  server.ext('onPreStop', () => void (isStopping = true));
  const add = async (): Promise<void> => {
    const { addPages } = await import('./add-pages.ts').catch((error: unknown) => {
      // For example too many open files: the next request tries again.
      added = null;
      throw error;
    });
    // Nothing would end the live pages of a console that comes after the end has begun.
    if (isStopping) throw new ApiError('service_unavailable', { detail: 'the gateway stops' });
    addPages(server, consoleOf());
  };
  server.ext('onRequest', async (request, h) => {
    if (isWeb(request)) await (added ??= add());
    addAskedRoutes(server, request.path);
    return h.continue;
  });
}
