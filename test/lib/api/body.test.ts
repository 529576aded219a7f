// Route options of bodies. What is read and refused, the server's test shows from outside.

import test from 'ava';
import {
  BODY_BYTES_MAX,
  CONFIGURATION_BYTES_MAX,
  ignoresBody,
  takesBody,
} from '../../../lib/api/body.ts';
import { openServer } from '../../support/server.ts';

test('limits are those of api.md', (t) => {
  t.is(BODY_BYTES_MAX, 1024 * 1024);
  t.is(CONFIGURATION_BYTES_MAX, 8_000_000);
  t.like(ignoresBody.payload, { maxBytes: BODY_BYTES_MAX });
});

test('a mistake of a judge is a 500, not a fault of the client', async (t) => {
  const { server, send } = await openServer(t, 'sqlite');
  const options = takesBody({
    wrapper: 'x',
    mode: 'create',
    judge: () => {
      throw new TypeError('a mistake');
    },
  });
  server.route({ method: 'POST', path: '/v0/mistaken', options, handler: () => null });
  t.is((await send('POST', '/v0/mistaken', { body: { x: {} } })).status, 500);
  t.is((await send('POST', '/v0/mistaken', { body: {} })).status, 400);
});
