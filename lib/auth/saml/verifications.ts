// What the verifier's thread does with XML of others, by name. Everything here may be slow, so the
// main thread never calls it: it asks verifier.ts.

import { entityIdsIn, parseSamlMetadata, type SamlMetadata } from '../saml-metadata.ts';
import { examineResponse } from './examine.ts';
import { judgeAddressedLogout, judgePostedLogout } from './logout.ts';
import { judgeResponse } from './response.ts';

/** The verifications; arguments and results are copied from thread to thread. */
export const verifications = {
  response: judgeResponse,
  testResponse: examineResponse,
  postedLogout: judgePostedLogout,
  addressedLogout: judgeAddressedLogout,
  metadata: async (text: string, wanted?: string): Promise<SamlMetadata> =>
    parseSamlMetadata(text, wanted),
  entityIds: async (text: string): Promise<string[]> => entityIdsIn(text),
};

/** The verifications by name. */
export type Verifications = typeof verifications;
