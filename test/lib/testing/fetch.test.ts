// A gateway in a test whose devices reach real servers of the test. lib/testing/README.md

import { once } from 'node:events';
import { createServer as createHttp, get, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { createGateway, type TestGateway } from '../../../lib/testing/index.ts';

const SITE = '10.0.0.5';

async function listen(t: ExecutionContext, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function gatewayWithSite(t: ExecutionContext): Promise<TestGateway> {
  const gateway = await createGateway({ tun: 'sockets' });
  t.teardown(() => gateway.close());
  const site = createHttp((asked, answer) => {
    let body = '';
    asked.on('data', (part: Buffer) => (body += String(part)));
    asked.on('end', () => {
      answer.setHeader('x-host', asked.headers.host ?? '');
      answer.statusCode = asked.url === '/none' ? 204 : 200;
      answer.end(asked.url === '/none' ? '' : `${asked.method} ${asked.url} ${body}`);
    });
  });
  gateway.host(SITE, { forward: await listen(t, site) });
  return gateway;
}

test('a device fetches from a real server, and a rule keeps it from there', async (t) => {
  const gateway = await gatewayWithSite(t);
  const laptop = await gateway.addDevice();
  const answer = await laptop.fetch(`http://${SITE}/page?a=1`);
  t.is(answer.status, 200);
  t.is(answer.headers.get('x-host'), SITE);
  t.is(await answer.text(), 'GET /page?a=1 ');
  const posted = await laptop.fetch(`http://${SITE}:8080/`, { method: 'POST', body: 'hello' });
  t.is(await posted.text(), 'POST / hello');
  t.is((await laptop.fetch(`http://${SITE}/none`)).status, 204);

  const rule = { action: 'drop', destination: SITE };
  await gateway.api.post('/v0/rules', { rule });
  await t.throwsAsync(laptop.fetch(`http://${SITE}/`, { signal: AbortSignal.timeout(500) }));
  t.true(gateway.drops()['rule_drop']! > 0);
  t.is((await laptop.explain(SITE, 'tcp/80')).verdict, 'drop');
});

test('an agent of a device serves http.request', async (t) => {
  const gateway = await gatewayWithSite(t);
  const laptop = await gateway.addDevice();
  const [answer] = (await once(
    get({ agent: laptop.agent(), host: SITE, path: '/x' }),
    'response',
  )) as [IncomingMessage];
  t.is(answer.statusCode, 200);
  answer.resume();
  await once(answer, 'end');
});

test('a stream of a device is a connection, which a rule ends', async (t) => {
  const gateway = await createGateway({ tun: 'sockets' });
  t.teardown(() => gateway.close());
  let ended = false;
  const server = createServer((socket) => {
    socket.on('error', () => (ended = true));
    socket.on('data', (data: Buffer) => void socket.write(data));
  });
  gateway.host('10.0.0.6', { forward: await listen(t, server) });
  const laptop = await gateway.addDevice();
  const stream = laptop.stream('10.0.0.6', 5432);
  stream.on('error', () => undefined);
  stream.write('hello');
  const [data] = (await once(stream, 'data')) as [Buffer];
  t.is(String(data), 'hello');
  await gateway.api.post('/v0/rules', { rule: { action: 'drop', destination: '10.0.0.6' } });
  for (let i = 0; i < 100 && !ended; i++) await new Promise((resolve) => setTimeout(resolve, 20));
  t.true(ended);
});

test('hosts in memory are there as ever, and nobody is where nobody was put', async (t) => {
  const gateway = await createGateway({ tun: 'sockets' });
  t.teardown(() => gateway.close());
  gateway.host('10.0.0.7', { tcp: (data) => `pong: ${String(data)}`, ports: [5432] });
  const laptop = await gateway.addDevice();
  const connection = await laptop.connect('10.0.0.7', 5432);
  t.is(String(await connection.exchange('ping')), 'pong: ping');
  await connection.close();
  await laptop.ping('10.0.0.7');
  const [error] = (await once(laptop.stream('10.0.0.99', 80), 'error')) as [NodeJS.ErrnoException];
  t.is(error.code, 'EHOSTUNREACH');
});

test('forward is refused where it leads nowhere', async (t) => {
  const gateway = await createGateway({ tun: 'sockets' });
  t.teardown(() => gateway.close());
  for (const forward of ['localhost:1', '127.0.0.1', '127.0.0.1:0', '127.0.0.1:70000', ''])
    t.throws(() => gateway.host('10.0.0.8', { forward }), { instanceOf: TypeError }, forward);
  t.throws(() => gateway.host('10.0.0.8', { forward: '127.0.0.1:1', ports: [1] } as never), {
    message: /answers itself/,
  });
  gateway.host('10.0.0.8', { forward: '[::1]:80' });
  t.throws(() => gateway.host('10.0.0.8'), { message: /already/ });
  const inMemory = await createGateway();
  t.teardown(() => inMemory.close());
  t.throws(() => inMemory.host('10.0.0.8', { forward: '127.0.0.1:80' }), { message: /sockets/ });
  const laptop = await gateway.addDevice();
  await t.throwsAsync(laptop.fetch('https://10.0.0.8/'), { message: /takes http/ });
});

test('requests of fetch take turns on one connection, as long as it is there', async (t) => {
  const gateway = await createGateway({ tun: 'sockets' });
  t.teardown(() => gateway.close());
  let connections = 0;
  const site = createHttp((asked, answer) => answer.end(asked.method));
  site.on('connection', () => connections++);
  gateway.host(SITE, { forward: await listen(t, site) });
  const laptop = await gateway.addDevice();
  for (let i = 0; i < 5; i++) t.is(await (await laptop.fetch(`http://${SITE}/`)).text(), 'GET');
  t.is(connections, 1);
  // What may not be sent twice has a connection of its own.
  t.is(await (await laptop.fetch(`http://${SITE}/`, { method: 'POST' })).text(), 'POST');
  t.is(connections, 2);
  // The server ends a connection that waits.
  site.closeIdleConnections();
  await sleep(100);
  t.is(await (await laptop.fetch(`http://${SITE}/`)).text(), 'GET');
  t.is(connections, 3);
});

test('a connection that ends as a request comes costs no answer', async (t) => {
  const gateway = await createGateway({ tun: 'sockets' });
  t.teardown(() => gateway.close());
  const served = new WeakSet<Socket>();
  let lost = 0;
  const site = createHttp(({ socket }, answer) => {
    if (!served.has(socket)) answer.end('welcome');
    else {
      lost++;
      socket.resetAndDestroy();
    }
    served.add(socket);
  });
  gateway.host(SITE, { forward: await listen(t, site) });
  const laptop = await gateway.addDevice();
  for (let i = 0; i < 3; i++) t.is(await (await laptop.fetch(`http://${SITE}/`)).text(), 'welcome');
  t.is(lost, 1);
});
