// The /v0 API as one plugin: its resources, in the order of docs/api.md#operations.

import type { Plugin, Request, ResponseToolkit } from '@hapi/hapi';
import { callerOf } from '../../http/request-caller.ts';
import { withoutSecrets } from '../../records/secrets.ts';
import { operations } from '../../rooms.ts';
import { operationRoutes } from '../operation-routes.ts';
import type { ApiContext } from '../routes.ts';
import { captureRoutes } from './capture.ts';
import { configurationRoutes } from './configuration.ts';
import { diagnosisRoutes } from './diagnosis.ts';
import { explainRoutes } from './explain.ts';
import { historyRoutes } from './history.ts';
import { liveRoutes } from './live.ts';
import { relinkRoutes } from './relinking.ts';
import { ruleCounterRoutes } from './rule-counters.ts';
import { samlMetadataRoutes } from './saml-metadata.ts';
import { trustedProviderRoutes } from './trusted-providers.ts';

/**
 * Answers null in place of secrets to whoever may only read. Lists as text do it themselves, and
 * streams hold none.
 */
function hideSecrets(request: Request, h: ResponseToolkit): symbol {
  const { response } = request;
  if (response instanceof Error || response.variety !== 'plain' || callerOf(request).seesSecrets)
    return h.continue;
  Object.assign(response, { source: withoutSecrets(response.source) });
  return h.continue;
}

/** All operations under /v0. */
export const v0: Plugin<ApiContext> = {
  name: 'v0',
  register(server, context) {
    server.ext('onPreResponse', hideSecrets, { sandbox: 'plugin' });
    server.route(operationRoutes(context, context.rooms, operations));
    server.route(ruleCounterRoutes(context));
    server.route(explainRoutes(context));
    server.route(diagnosisRoutes(context));
    server.route(liveRoutes(context));
    server.route(captureRoutes(context));
    server.route(historyRoutes(context));
    server.route(configurationRoutes(context));
    server.route(trustedProviderRoutes(context));
    server.route(relinkRoutes(context));
    server.route(samlMetadataRoutes(context));
  },
};
