// `GET /v0/devices/{id}/capture`: the packets of a device while they pass, as pcapng. It is our own
// addition to the API. The gateway that is asked captures what it sees.
// docs/api.md#capturing-packets.

import type { ServerRoute } from '@hapi/hapi';
import { readWishes } from '../../capture/wishes.ts';
import { ApiError } from '../../http/errors.ts';
import { isUuid } from '../../judge/fields.ts';
import { refuseFaults } from '../../records/writes.ts';
import { type ApiContext, route } from '../routes.ts';

/** What is answered. */
export const PCAPNG_TYPE = 'application/x-pcapng';

/** The route. */
export function captureRoutes({ services, captures }: ApiContext): ServerRoute[] {
  return [
    route('GET', '/v0/devices/{id}/capture', {}, async (request, h) => {
      const { values, faults } = readWishes(request.url.search);
      refuseFaults(faults);
      const id = String(request.params['id']);
      const device = isUuid(id)
        ? await services.database.models.Device.findByPk(id.toLowerCase())
        : null;
      if (device === null) throw new ApiError('not_found');
      const ask = (): Promise<unknown> => request.server.auth.test('administrator', request);
      // Whoever asks for the headers alone captures nothing.
      const body =
        request.method === 'head' ? '' : await captures.begin(request, device, values, ask);
      // Proxies must hand on each packet at once.
      return h.response(body).code(200).type(PCAPNG_TYPE).header('x-accel-buffering', 'no');
    }),
  ];
}
