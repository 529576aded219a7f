// The operation that captures the packets of a device while they pass, as a file of Wireshark.
// docs/api.md#capturing-packets.

import { described, queryOf, UUID_PARAM } from '../../kit/operations/operation.ts';
import { PCAPNG_TYPE } from './answer.ts';
import { validateWish, wishFields } from './wishes.ts';

/** The operation that captures; its answer is a stream, so that its route is made by hand. */
export const captureOperation = described({
  id: 'captureDevice',
  method: 'GET',
  path: '/v0/devices/{id}/capture',
  tag: 'devices',
  params: UUID_PARAM,
  scopes: ['capture'],
  summary: 'Capture the packets of a device',
  description:
    'A stream of pcapng for Wireshark, with a comment on each packet that says what became of it. ' +
    'It ends after `duration` seconds, or when the client goes away. At most two run at a gateway. ' +
    'Unknown parameters are ignored.',
  query: queryOf(wishFields, validateWish),
  content: { description: 'The packets, as they pass.', type: PCAPNG_TYPE },
});
