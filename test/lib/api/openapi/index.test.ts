// The document as it is served.

import test from 'ava';
import { openApiDocument } from '../../../../lib/api/openapi/document.ts';
import { openServer, surfaces } from '../../../support/api/server.ts';

for (const kind of surfaces())
  test(`${kind}: the document is open to everyone`, async (t) => {
    const { send } = await openServer(t, kind);
    const answer = await send('GET', '/v0/openapi.json', { token: null });
    t.is(answer.status, 200);
    t.deepEqual(answer.body, openApiDocument(''));
    t.is(answer.headers['content-type'], 'application/json; charset=utf-8');
    t.is(answer.headers['cache-control'], 'no-store');
    t.is((await send('HEAD', '/v0/openapi.json', { token: null })).status, 200);
    t.is((await send('POST', '/v0/openapi.json')).status, 404);
  });

test('its server is where EXTERNAL_URL says', async (t) => {
  const { send } = await openServer(t, 'sqlite', { EXTERNAL_URL: 'https://vpn.example.com/gate/' });
  t.deepEqual((await send('GET', '/v0/openapi.json')).body.servers, [{ url: '/gate' }]);
});
