// Where a handshake came from or went to, in words.

import type { Endpoint } from '../../../dataplane/index.ts';
import { endpointText } from '../../kit/validation/texts.ts';

/** An address and port, as text. */
export function endpointInWords(endpoint: Endpoint | null): string {
  return endpoint === null ? 'an unknown address' : endpointText(endpoint.address, endpoint.port);
}
