// What is said of a gateway that runs already to whoever starts another one with its settings.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { runsAlready } from '../../../../lib/installation/doctor/listening.ts';
import { configOf } from '../../../support/api/server.ts';

test('a gateway that answers is found, another program on its port is not', async (t) => {
  let answer = JSON.stringify({ status: 'ready', tun: 'wg-postern', masquerade: true });
  const server = createServer((_request, response) => response.end(answer)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const config = configOf({ HTTP_PORT: String(port) });
  t.regex(
    String(await runsAlready(config)),
    /^a gateway already runs with these settings: it answers at 127\.0\.0\.1:\d+; stop it first/,
  );
  answer = 'something else';
  t.is(await runsAlready(config), null);
});
