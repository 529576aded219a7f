// `/v0/users/{id}/enrolment`: makes, shows and revokes the one-time link of a user. The link itself
// is shown once, when it is made. It is our own addition to the API. docs/api.md#enrolment.

import type { Request, ServerRoute } from '@hapi/hapi';
import { Enrolments, type EnrolmentValues, judgeEnrolment } from '../../enrolment/enrolment.ts';
import { callerOf } from '../../http/request-caller.ts';
import { ignoresBody, judgedBody, takesBody } from '../body.ts';
import { type ApiContext, outsidePath, route } from '../routes.ts';

const PATH = '/v0/users/{id}/enrolment';

/** The routes. */
export function enrolmentRoutes(context: ApiContext): ServerRoute[] {
  const enrolments = new Enrolments(context);
  const creates = takesBody({ wrapper: 'enrolment', judge: judgeEnrolment, mode: 'create' });
  return [
    route('GET', PATH, {}, async (request) => ({ data: await enrolments.show(idOf(request)) })),
    route('POST', PATH, creates, async (request, h) => {
      const body = judgedBody<EnrolmentValues>(request);
      const shown = await enrolments.make(callerOf(request), idOf(request), body);
      const location = PATH.replace('{id}', String(shown['user_id']));
      return h.response({ data: shown }).created(outsidePath(context.services) + location);
    }),
    route('DELETE', PATH, ignoresBody, async (request, h) => {
      await enrolments.revoke(callerOf(request), idOf(request));
      return h.response().code(204);
    }),
  ];
}

function idOf(request: Request): string {
  return String(request.params['id']);
}
