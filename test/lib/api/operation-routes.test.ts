// The routes that are made of operations.

import test from 'ava';
import { operations } from '../../../lib/rooms.ts';
import { openServer, routesOf } from '../../support/api/server.ts';

test('each operation has its route, and one that changes a record takes PUT too', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const routes = new Set(
    (await routesOf(server)).map(({ method, path }) => `${method.toUpperCase()} ${path}`),
  );
  for (const { method, path } of operations)
    for (const one of method === 'PATCH' ? ['PATCH', 'PUT'] : [method])
      t.true(routes.has(`${one} ${path}`), `${one} ${path}`);
});

test('what is made has an address; what is gone has no body', async (t) => {
  const { send } = await openServer(t, 'sqlite', { EXTERNAL_URL: 'https://vpn.example.com/gate/' });
  const made = await send('POST', '/v0/groups', { body: { group: { name: 'a' } } });
  t.is(made.status, 201);
  const { id } = made.body.data;
  t.is(made.headers['location'], `/gate/v0/groups/${id}`);
  await send('POST', '/v0/groups', { body: { group: { name: 'b' } } });
  const page = await send('GET', '/v0/groups?limit=1');
  t.is(page.body.data.length, 1);
  t.is(page.headers['link'], `</gate/v0/groups?limit=1&cursor=${id}>; rel="next"`);
  const gone = await send('DELETE', `/v0/groups/${id}`);
  t.is(gone.status, 204);
  t.is(gone.text, '');
});
