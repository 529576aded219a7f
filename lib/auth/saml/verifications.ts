// What the verifier's thread does with XML of others, by name. Everything here may be slow, so the
// main thread never calls it: it asks verifier.ts.

import { entityIdsIn, parseSamlMetadata, type SamlMetadata } from '../saml-metadata.ts';
import { examineResponse } from './examine.ts';
import { checkAddressedLogout, checkPostedLogout } from './logout.ts';
import { checkResponse } from './response.ts';

/** The verifications; arguments and results are copied from thread to thread. */
export const verifications = {
  response: checkResponse,
  testResponse: examineResponse,
  postedLogout: checkPostedLogout,
  addressedLogout: checkAddressedLogout,
  metadata: async (text: string, wanted?: string): Promise<SamlMetadata> =>
    parseSamlMetadata(text, wanted),
  entityIds: async (text: string): Promise<string[]> => entityIdsIn(text),
};

/** The verifications by name. */
export type Verifications = typeof verifications;
