// `postern token make-bootstrap`: a value for the setting BOOTSTRAP_API_TOKEN.

import { newApiToken } from '../kit/process/api-token.ts';
import type { Outcome } from './run.ts';

const NOTE =
  'Set it as BOOTSTRAP_API_TOKEN of the gateway, or in the file that BOOTSTRAP_API_TOKEN_FILE names. From its next start on it is a token of the first administrator with all rights.';

/** Makes a token; nothing keeps it. */
export function makeBootstrapToken(): Outcome {
  const token = newApiToken();
  return { text: token, data: { token }, note: NOTE };
}
