// The HTTP server. A request passes these steps in their order, most of them hapi's own: id and
// path (conventions) → route → who asks (bearer) → body (body.ts, judge.ts) → handler (v0) → wait
// until a write is in force → errors (errors.ts) → headers of the answer (conventions).

import Hapi, { type Server } from '@hapi/hapi';
import { conventions } from './api/conventions.ts';
import { docs } from './api/docs.ts';
import { errorAnswers } from './api/errors.ts';
import { health } from './api/health.ts';
import { inForce } from './api/in-force.ts';
import { openApi } from './api/openapi/index.ts';
import { Recall } from './api/recall.ts';
import { outsidePath } from './api/routes.ts';
import { v0 } from './api/v0/index.ts';
import { Writes } from './api/writes.ts';
import { bearer } from './auth/index.ts';
import type { Services } from './services.ts';

/** Makes the server; it does not listen yet, and requests can be injected. */
export function createServer(services: Services): Server {
  const { config, database, log } = services;
  const server = Hapi.server({
    host: config.httpHost,
    port: config.httpPort,
    // Errors are logged by errors.ts, without what they may hold.
    debug: false,
    // Answers hold keys: beside what an attacker chooses, compression would tell about them.
    compression: false,
    router: { stripTrailingSlash: true },
    routes: {
      cors: false,
      response: { ranges: false },
      state: { parse: false, failAction: 'ignore' },
    },
  });
  const recall = new Recall(database);
  const writes = new Writes(database);
  // A plugin whose `register` is synchronous is registered when the call returns.
  void server.register({ plugin: errorAnswers, options: { log } });
  void server.register({ plugin: conventions });
  void server.register({ plugin: inForce, options: services });
  void server.register({ plugin: bearer, options: { services, recall } });
  void server.register({ plugin: health, options: services });
  const outside = outsidePath(services);
  void server.register({ plugin: openApi, options: { outside } });
  void server.register({ plugin: docs, options: { outside } });
  void server.register({ plugin: v0, options: { services, recall, writes } });
  return server;
}
