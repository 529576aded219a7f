// A client for the API of Postern: openapi-fetch with the types of its document.

import createFetchClient from 'openapi-fetch';

/** Makes a client for one gateway. */
export function createClient({ url, token, fetch }) {
  return createFetchClient({
    baseUrl: url,
    headers: { authorization: `Bearer ${token}` },
    ...(fetch === undefined ? {} : { fetch }),
  });
}
