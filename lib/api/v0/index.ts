// The /v0 API as one plugin: the routes of all operations, and those that are made by hand, because
// they stream, answer files or have pages of their own. None of these holds a secret.

import type { Plugin } from '@hapi/hapi';
import { operations } from '../../rooms.ts';
import { operationRoutes } from '../operation-routes.ts';
import type { ApiContext } from '../routes.ts';
import { captureRoutes } from './capture.ts';
import { historyRoutes } from './history.ts';
import { liveRoutes } from './live.ts';

/** All operations under /v0. */
export const v0: Plugin<ApiContext> = {
  name: 'v0',
  register(server, context) {
    server.route(operationRoutes(context, context.rooms, operations));
    server.route(liveRoutes(context));
    server.route(captureRoutes(context));
    server.route(historyRoutes(context));
  },
};
