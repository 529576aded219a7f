// `GET /v0/devices/{id}/capture`: the packets of a device while they pass, as pcapng. It is our own
// addition to the API. The gateway that is asked captures what it sees.
// docs/api.md#capturing-packets.

import type { ServerRoute } from '@hapi/hapi';
import { asCapture } from '../../observe/capture/answer.ts';
import { captureOperation } from '../../observe/capture/operations.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { callerOf } from '../../kit/http/request-caller.ts';
import { isUuid } from '../../kit/validation/fields.ts';
import { parametersOf } from '../../kit/validation/query.ts';
import { describedRoute } from '../operation-routes.ts';
import type { ApiContext } from '../routes.ts';

/** The route. */
export function captureRoute({ services, captures }: ApiContext): ServerRoute {
  return describedRoute(captureOperation, async (request, h) => {
    const wishes = captureOperation.query.read(parametersOf(request.url.search));
    const id = String(request.params['id']);
    const device = isUuid(id)
      ? await services.database.models.Device.findByPk(id.toLowerCase())
      : null;
    if (device === null) throw new ApiError('not_found');
    // A HEAD request begins no capture.
    const body =
      request.method === 'head' ? '' : await captures.begin(callerOf(request), device, wishes);
    return asCapture(h.response(body).code(200));
  });
}
