// `GET /v0/openapi.json`: the document, open to everyone. api.md, section 9.

import type { Plugin } from '@hapi/hapi';
import { openApiDocument } from './document.ts';

/** Serves the document; `outside` as for `openApiDocument`. */
export const openApi: Plugin<{ outside: string }> = {
  name: 'openapi',
  register(server, { outside }) {
    const text = JSON.stringify(openApiDocument(outside));
    server.route({
      method: 'GET',
      path: '/v0/openapi.json',
      options: { auth: false },
      handler: (_request, h) => h.response(text).type('application/json'),
    });
  },
};
