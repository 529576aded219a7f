// The two operations on the configuration. docs/api.md#the-configuration.

import type { ServerRoute } from '@hapi/hapi';
import {
  CONFIGURATION_BYTES_MAX,
  judgeConfiguration,
  shownConfiguration,
  updateConfiguration,
} from '../../configuration/configuration.ts';
import { callerOf } from '../../http/request-caller.ts';
import { judgedBody, takesBody } from '../body.ts';
import { type ApiContext, route } from '../routes.ts';

/** The routes. */
export function configurationRoutes(context: ApiContext): ServerRoute[] {
  const path = '/v0/configuration';
  const body = takesBody({
    wrapper: 'configuration',
    judge: judgeConfiguration,
    mode: 'update',
    maxBytes: CONFIGURATION_BYTES_MAX,
  });
  return [
    route('GET', path, {}, async () => ({
      data: shownConfiguration(context, await context.recall.configuration()),
    })),
    route(['PATCH', 'PUT'], path, body, async (request) => ({
      data: await updateConfiguration(context, callerOf(request), judgedBody(request)),
    })),
  ];
}
