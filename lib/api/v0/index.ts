// The /v0 API as one plugin: the routes of all operations, and one route that is made by hand
// because it streams.

import type { Plugin } from '@hapi/hapi';
import { operations } from '../../rooms.ts';
import { addLate } from '../../kit/http/late-routes.ts';
import { operationRoutes } from '../operation-routes.ts';
import type { ApiContext } from '../routes.ts';
import { captureRoute } from './capture.ts';

/** All operations under /v0. */
export const v0: Plugin<ApiContext> = {
  name: 'v0',
  register(server, context) {
    addLate(server, operationRoutes(context, context.rooms, operations));
    addLate(server, [captureRoute(context)]);
  },
};
