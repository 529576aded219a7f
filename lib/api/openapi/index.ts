// `GET /v0/openapi.json`: the document, open to everyone. docs/api.md#openapi.

import type { Plugin } from '@hapi/hapi';

/** Serves the document; `outside` as for `openApiDocument`. */
export const openApi: Plugin<{ outside: string }> = {
  name: 'openapi',
  register(server, { outside }) {
    // Loaded and made when it is first asked for: it takes longer than the rest of the API.
    let text: string | null = null;
    server.route({
      method: 'GET',
      path: '/v0/openapi.json',
      options: { auth: false },
      handler: async (_request, h) => {
        const { openApiDocument } = await import('./document.ts');
        text ??= JSON.stringify(openApiDocument(outside));
        return h.response(text).type('application/json');
      },
    });
  },
};
