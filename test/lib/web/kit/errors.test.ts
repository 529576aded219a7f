// Errors for people: clear words and the id of the request. Programs get JSON, whatever failed.

import test from 'ava';
import { ApiError } from '../../../../lib/kit/http/errors.ts';
import type { Readiness } from '../../../../lib/observe/gateway-state.ts';
import { openServer } from '../../../support/api/server.ts';
import { addPerson, Visitor } from '../../../support/web/visitor.ts';

test('a browser gets a page with the id of its request, a program gets JSON', async (t) => {
  const server = await openServer(t, 'sqlite');
  const visitor = new Visitor(server);
  const shown = await visitor.get('/nothing');
  t.is(shown.status, 404);
  t.true(shown.text.includes(String(shown.headers['x-request-id'])));
  t.regex(shown.text, /Nothing here/);
  visitor.headers['accept'] = '*/*';
  t.is((await visitor.get('/nothing')).text, '{"error":"not_found"}');
});

test('under /v0 errors are JSON, even for a browser', async (t) => {
  const server = await openServer(t, 'sqlite');
  const visitor = new Visitor(server);
  t.is((await visitor.get('/v0/nothing')).text, '{"error":"not_found"}');
  t.regex((await visitor.get('/v0/users')).text, /^\{"errors"/);
});

test('an internal error shows no details on the page, and the log has them', async (t) => {
  const server = await openServer(t, 'sqlite');
  server.server.route({
    method: 'GET',
    path: '/broken',
    options: { auth: false },
    handler: () => {
      throw new Error('the secret reason');
    },
  });
  const shown = await new Visitor(server).get('/broken');
  t.is(shown.status, 500);
  t.true(shown.text.includes(String(shown.headers['x-request-id'])));
  t.false(/secret reason|node:|\.ts/.test(shown.text));
  t.true(server.log.some(({ level }) => level === 'error'));
});

test('the page of an error still knows who is signed in', async (t) => {
  const server = await openServer(t, 'sqlite');
  await addPerson(server.database, 'ann@example.com');
  const visitor = new Visitor(server);
  await visitor.signIn('ann@example.com');
  const shown = await visitor.get('/nothing');
  t.regex(shown.text, /ann@example\.com/);
  t.true(visitor.cookies.has('postern-session'));
  t.false(visitor.cookies.has('postern-visitor'));
});

test('if no device passes packets, the page does not say that devices are served', async (t) => {
  let status: Readiness['status'] = 'database_unavailable';
  const services = { readiness: () => ({ status, tun: null, masquerade: false }) };
  const server = await openServer(t, 'sqlite', {}, services);
  server.server.route({
    method: 'GET',
    path: '/away',
    options: { auth: false },
    handler: () => {
      throw new ApiError('service_unavailable');
    },
  });
  const visitor = new Visitor(server);
  t.regex((await visitor.get('/away')).text, /devices work meanwhile/);
  status = 'database_away';
  const page = await visitor.get('/away');
  t.is(page.status, 503);
  t.regex(page.text, /lets no device through/);
  t.notRegex(page.text, /work meanwhile/);
});

test('even without a database there is a page', async (t) => {
  const server = await openServer(t, 'sqlite');
  await server.database.close();
  const shown = await new Visitor(server).get('/');
  t.true(shown.status >= 500, String(shown.status));
  t.regex(shown.text, /<h1>/);
  t.true(shown.text.includes(String(shown.headers['x-request-id'])));
});

test('a path is shown as text', async (t) => {
  const server = await openServer(t, 'sqlite');
  const shown = await new Visitor(server).get(
    '/%3Cscript%3Ealert(1)%3C/script%3E?<script>alert(1)',
  );
  t.false(shown.text.includes('<script>alert'));
});

test('where no page can be made, even a browser gets JSON, and the log says why', async (t) => {
  const { server, log } = await openServer(t, 'sqlite');
  // What a process with too many open files throws wherever a page is read.
  server.ext('onRequest', (request, h) => {
    Object.defineProperty(request, 'url', {
      get: () => {
        throw new Error('no files left');
      },
    });
    return h.continue;
  });
  const { statusCode, payload } = await server.inject({
    url: '/nothing',
    headers: { accept: 'text/html' },
  });
  t.is(statusCode, 404);
  t.is(payload, '{"error":"not_found"}');
  t.true(log.some(({ message }) => message === 'an error has no page'));
});
