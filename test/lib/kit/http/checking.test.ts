// Node looks at connections while there are some, and at no other time.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { checkWhileConnected, openConnections } from '../../../../lib/kit/http/checking.ts';

const EVERY_MS = 10;

for (const [kind, create] of [
  ['HTTP', () => createServer()],
  ['HTTPS', () => createTlsServer()],
] as const)
  test(`${kind}: slow clients are looked for while there are clients`, async (t) => {
    const server: Server = create();
    checkWhileConnected(server, EVERY_MS);
    let looks = 0;
    Object.defineProperty(server, 'headersTimeout', {
      get: () => {
        looks += 1;
        return 60_000;
      },
    });
    const looksIn = async (ms: number): Promise<number> => {
      const before = looks;
      await sleep(ms);
      return looks - before;
    };
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => server.close());
    t.is(await looksIn(200), 0, 'nobody is there');
    const dial = async () => {
      const { port } = server.address() as AddressInfo;
      const socket = connect(port, '127.0.0.1');
      await Promise.all([once(socket, 'connect'), once(server, 'connection')]);
      return socket;
    };
    const [first, second] = [await dial(), await dial()];
    t.true((await looksIn(300)) > 0, 'two are there');
    t.is(openConnections(server), 2);
    first.destroy();
    await sleep(50);
    t.true((await looksIn(300)) > 0, 'one is there');
    second.destroy();
    await sleep(50);
    t.is(await looksIn(200), 0, 'all are gone');
    t.is(openConnections(server), 0);
    const third = await dial();
    t.true((await looksIn(300)) > 0, 'one is there again');
    third.destroy();
  });

test('a server that listens again looks for slow clients as before', async (t) => {
  const server = createServer({ headersTimeout: 50, requestTimeout: 50 });
  checkWhileConnected(server, EVERY_MS);
  for (let i = 0; i < 2; i += 1) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    t.regex(answer.toString(), /^HTTP\/1\.1 408 /);
    socket.destroy();
    server.close();
    await once(server, 'close');
  }
});
