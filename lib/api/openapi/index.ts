// `GET /v0/openapi.json`: the document, open to everyone. docs/api.md#openapi.

import type { Plugin } from '@hapi/hapi';
import { openApiDocument } from './document.ts';

/** Serves the document; `outside` as for `openApiDocument`. */
export const openApi: Plugin<{ outside: string }> = {
  name: 'openapi',
  register(server, { outside }) {
    // Made when it is first asked for: that takes longer than all else in a server's start.
    let text: string | null = null;
    server.route({
      method: 'GET',
      path: '/v0/openapi.json',
      options: { auth: false },
      handler: (_request, h) => {
        text ??= JSON.stringify(openApiDocument(outside));
        return h.response(text).type('application/json');
      },
    });
  },
};
