// `GET /docs`: the OpenAPI document as pages, which Swagger UI renders in the browser. Its files
// lie beside this one (tools/swagger-ui.ts). The pages are open to everyone, like the document.
// Nothing comes from another address, and no script or style is inside the page.
// docs/api.md#openapi; decisions/2026-11-21-swagger-ui.md.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plugin, ResponseToolkit, ServerRoute } from '@hapi/hapi';

/** What the page may load: files of its own origin, and pictures inside the style sheet. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

/** The files of Swagger UI that the page needs, and their types. */
const copied: Readonly<Record<string, string>> = {
  'swagger-ui-bundle.js': SCRIPT,
  'swagger-ui.css': STYLE,
};

/** Starts Swagger UI without a validator on the Internet and without settings in the address. */
const START = `const place = document.getElementById('document');
SwaggerUIBundle({
  url: place.dataset.url,
  domNode: place,
  deepLinking: true,
  validatorUrl: null,
  queryConfigEnabled: false,
  docExpansion: 'list',
  supportedSubmitMethods: ['get', 'post', 'put', 'patch', 'delete'],
});
`;

/** A file as it is served. */
interface Served {
  readonly bytes: Buffer | string;
  readonly type: string;
  /** Changes when the file changes. */
  readonly tag: string;
}

/** Serves the pages; `outside` as for `openApiDocument`. */
export const docs: Plugin<{ outside: string }> = {
  name: 'docs',
  register(server, { outside }) {
    const page = served(pageAt(outside), 'text/html; charset=utf-8');
    const start = served(START, SCRIPT);
    server.route([
      get('/docs', async () => page),
      get('/docs/start.js', async () => start),
      ...Object.entries(copied).map(([name, type]) => get(`/docs/${name}`, () => open(name, type))),
    ]);
  },
};

function get(path: string, read: () => Promise<Served>): ServerRoute {
  return {
    method: 'GET',
    path,
    options: { auth: false },
    handler: async (_request, h: ResponseToolkit) => {
      const { bytes, type, tag } = await read();
      return (
        h
          .response(bytes)
          .type(type)
          .etag(tag)
          // Asked for again at each visit, and sent again only after an update.
          .header('cache-control', 'no-cache')
          .header('content-security-policy', POLICY)
          .header('x-content-type-options', 'nosniff')
          .header('referrer-policy', 'no-referrer')
      );
    },
  };
}

function pageAt(outside: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <title>Postern administration API</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="${outside}/docs/swagger-ui.css" />
  </head>
  <body>
    <div id="document" data-url="${outside}/v0/openapi.json"></div>
    <script src="${outside}/docs/swagger-ui-bundle.js"></script>
    <script src="${outside}/docs/start.js"></script>
  </body>
</html>
`;
}

const opened = new Map<string, Promise<Served>>();

/** A file of Swagger UI, read when somebody asks for it first. */
function open(name: string, type: string): Promise<Served> {
  const present = opened.get(name);
  if (present !== undefined) return present;
  const reading = readFile(join(import.meta.dirname, 'swagger-ui', name)).then((bytes) =>
    served(bytes, type),
  );
  opened.set(name, reading);
  // One that cannot be read is tried again.
  reading.catch(() => opened.delete(name));
  return reading;
}

function served(bytes: Buffer | string, type: string): Served {
  return { bytes, type, tag: createHash('sha256').update(bytes).digest('base64url').slice(0, 22) };
}
