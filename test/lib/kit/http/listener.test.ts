// What a client may cost the listener, with raw sockets and small limits.

import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { divideFiles } from '../../../../dataplane/io/files.ts';
import {
  createListener,
  HTTP_LIMITS,
  type HttpLimits,
  limitsWithin,
} from '../../../../lib/kit/http/listener.ts';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import { logInto, openServer, type TestServer } from '../../../support/api/server.ts';

interface Client {
  socket: Socket;
  /** Everything that came, once the server ended the connection. */
  ended: Promise<string>;
  received: () => string;
}

/** Starts a server that listens with small limits. */
async function listen(
  t: ExecutionContext,
  httpLimits: Partial<HttpLimits>,
  settings: Record<string, string> = {},
): Promise<TestServer & { dial: () => Client }> {
  const server = await openServer(
    t,
    'sqlite',
    { HTTP_PORT: '0', ...settings },
    {
      httpLimits: { checkEveryMs: 20, ...httpLimits },
    },
  );
  await server.server.start();
  t.teardown(() => server.server.stop({ timeout: 100 }));
  const { port } = server.server.info;
  const dial = (): Client => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress: '127.0.0.1' });
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => (text += chunk));
    socket.on('error', () => undefined);
    t.teardown(() => socket.destroy());
    const ended = new Promise<string>((resolve) => socket.once('close', () => resolve(text)));
    return { socket, ended, received: () => text };
  };
  return { ...server, dial };
}

async function until(isDone: () => boolean): Promise<void> {
  for (let i = 0; !isDone() && i < 1_000; i += 1) await sleep(10);
}

const statusOf = (text: string): string => text.split('\r\n')[0] ?? '';
const bodyOf = (text: string): unknown => JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));

test('headers that are too large are refused', async (t) => {
  const { dial, services } = await listen(t, { headerBytesMax: 1_000 });
  const { socket, ended } = dial();
  socket.write(`GET /healthz HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(2_000)}\r\n\r\n`);
  const text = await ended;
  t.is(statusOf(text), 'HTTP/1.1 431 Request Header Fields Too Large');
  t.deepEqual(bodyOf(text), { error: 'headers_too_large' });
  t.regex(text, /\r\nx-request-id: [0-9a-f-]{36}\r\n/);
  t.is(services.counters.of('requests_refused', 'headers_too_large'), 1);
});

test('an expectation that nobody fulfils is refused', async (t) => {
  const { dial, services } = await listen(t, {});
  const { socket, received } = dial();
  socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\nexpect: wonders\r\n\r\n');
  await until(() => received().endsWith('}'));
  t.is(statusOf(received()), 'HTTP/1.1 417 Expectation Failed');
  t.deepEqual(bodyOf(received()), { error: 'expectation_failed' });
  t.regex(received(), /\r\nx-request-id: [0-9a-f-]{36}\r\n/);
  t.is(services.counters.of('requests_refused', 'expectation_failed'), 1);
});

test('what is no HTTP is refused', async (t) => {
  const { dial, services } = await listen(t, {});
  const { socket, ended } = dial();
  socket.write('\x16\x03\x01\x02\x00 secret\r\n\r\n');
  const text = await ended;
  t.is(statusOf(text), 'HTTP/1.1 400 Bad Request');
  t.deepEqual(bodyOf(text), { error: 'malformed_request' });
  t.is(services.counters.of('requests_refused', 'malformed_request'), 1);
});

for (const [title, headers, status] of [
  ['no host', '', 'HTTP/1.1 400 Bad Request'],
  ['an unknown expectation', 'host: a\r\nexpect: wonders\r\n', 'HTTP/1.1 417 Expectation Failed'],
] as const)
  test(`${title} is answered by Node itself, and with an id too`, async (t) => {
    const { dial } = await listen(t, {});
    const { socket, ended } = dial();
    socket.write(`GET /healthz HTTP/1.1\r\n${headers}connection: close\r\n\r\n`);
    const text = await ended;
    t.is(statusOf(text), status);
    t.regex(text, /\r\nx-request-id: [0-9a-f-]{36}\r\n/);
  });

test('headers that drip are cut off', async (t) => {
  const { dial, services } = await listen(t, { headersMs: 150, requestMs: 300 });
  const { socket, ended } = dial();
  socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n');
  const drip = setInterval(() => void socket.write('x: y\r\n'), 20);
  const text = await ended;
  clearInterval(drip);
  t.is(statusOf(text), 'HTTP/1.1 408 Request Timeout');
  t.deepEqual(bodyOf(text), { error: 'request_timeout' });
  t.is(services.counters.of('requests_refused', 'request_timeout'), 1);
});

for (const [title, method, path] of [
  ['that is read', 'POST', '/v0/rules'],
  ['that means nothing', 'DELETE', '/v0/rules/00000000-0000-0000-0000-000000000000'],
] as const)
  test(`a body ${title} and drips is cut off`, async (t) => {
    const { dial, services, token } = await listen(t, { headersMs: 200, requestMs: 300 });
    const { socket, ended } = dial();
    socket.write(
      `${method} ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\n` +
        'content-type: application/json\r\ncontent-length: 100000\r\n\r\n{"rule":',
    );
    const drip = setInterval(() => void socket.write(' '), 20);
    const text = await ended;
    clearInterval(drip);
    t.is(statusOf(text), 'HTTP/1.1 408 Request Timeout');
    t.deepEqual(bodyOf(text), { error: 'request_timeout' });
    t.is(services.counters.of('requests_refused', 'request_timeout'), 1);
  });

test('a body that comes with a request that needs none is cut off as well', async (t) => {
  const { dial } = await listen(t, { headersMs: 200, requestMs: 300 });
  const { socket, ended } = dial();
  socket.write('POST /v0/rules HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n');
  const drip = setInterval(() => void socket.write(' '), 20);
  const text = await ended;
  clearInterval(drip);
  t.is(statusOf(text), 'HTTP/1.1 401 Unauthorized', 'answered before the body is there');
});

test('an idle connection is closed, one that is used is not', async (t) => {
  const { dial } = await listen(t, { keepAliveMs: 1_000 });
  const { socket, ended, received } = dial();
  const request = 'GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n';
  const count = (): number => received().split('HTTP/1.1 200').length - 1;
  for (let i = 1; i <= 4; i += 1) {
    socket.write(request);
    await until(() => count() === i);
  }
  t.is(count(), 4);
  t.is(statusOf(await ended), 'HTTP/1.1 200 OK');
});

test('a connection that sends nothing at all is closed', async (t) => {
  const { dial } = await listen(t, { headersMs: 150, requestMs: 300 });
  t.is(statusOf(await dial().ended), 'HTTP/1.1 408 Request Timeout');
});

test('connections are bounded, and a free place is given again', async (t) => {
  const { dial, services } = await listen(t, { connectionsMax: 2 });
  const first = dial();
  const second = dial();
  for (const { socket, received } of [first, second]) {
    socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
    await until(() => received() !== '');
  }
  t.is(await dial().ended, '');
  t.is(services.counters.of('connections_refused', 'too_many'), 1);
  first.socket.destroy();
  await first.ended;
  await sleep(20);
  const fourth = dial();
  fourth.socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
  await until(() => fourth.received() !== '');
  t.is(statusOf(fourth.received()), 'HTTP/1.1 200 OK');
});

test('connections beyond what files allow are counted apart, and said once', async (t) => {
  const { dial, services, log } = await listen(t, { connectionsMax: 1, filesMax: 150 });
  const first = dial();
  first.socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
  await until(() => first.received() !== '');
  for (let i = 0; i < 3; i += 1) t.is(await dial().ended, '');
  t.is(services.counters.of('connections_refused', 'too_few_files'), 3);
  t.is(services.counters.of('connections_refused', 'too_many'), 0);
  const said = log.filter(({ message }) => message.includes('too few files'));
  t.is(said.length, 1);
  t.like(said[0]?.fields, { files_max: 150, connections_max: 1 });
  t.regex(JSON.stringify(said[0]?.fields), /LimitNOFILE=/);
});

for (const [max, connections, share] of [
  [null, 2_048, undefined],
  [4_096 + 122, 2_047, 256],
  [1_024, 450, 57],
  [256, 8, 1],
] as const)
  test(`${connections} connections, where ${max} files may be open`, (t) => {
    const found = limitsWithin({ max, connections, sockets: 8, relayed: 0 });
    t.is(found.connectionsMax, share === undefined ? undefined : connections);
    t.is(found.connectionsPerAddressMax, share);
    t.is(found.filesMax, share === undefined ? undefined : max!);
  });

test('files are kept for as many connections as a listener has, and no more', (t) => {
  const files = { max: null, open: 0, relayed: 0, leaves: true, workers: 1 };
  t.is(divideFiles(files).connections, HTTP_LIMITS.connectionsMax);
});

test('this host stands for many clients and is not bounded by address', async (t) => {
  const { dial, services } = await listen(t, { connectionsPerAddressMax: 1 });
  for (let i = 0; i < 3; i += 1) {
    const { socket, received } = dial();
    socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
    await until(() => received() !== '');
    t.is(statusOf(received()), 'HTTP/1.1 200 OK');
  }
  t.deepEqual(services.counters.read().connections_refused, {});
});

test('connections of one address are bounded, and a free place is given again', async (t) => {
  const counters = new Counters();
  const limits = { ...HTTP_LIMITS, connectionsPerAddressMax: 2 };
  const listener = createListener({
    limits,
    counters,
    log: logInto([]),
    isProxy: () => false,
    scopeOf: (address) => address,
  });
  listener.on('request', (_request, response: ServerResponse) => void response.end());
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    listener.close();
    listener.closeAllConnections();
  });
  const { port } = listener.address() as AddressInfo;
  const ask = async (): Promise<{ socket: Socket; text: string }> => {
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    const text = await new Promise<string>((resolve) => {
      socket.once('data', (chunk) => resolve(chunk.toString()));
      socket.on('error', () => resolve(''));
      socket.once('close', () => resolve(''));
    });
    t.teardown(() => socket.destroy());
    return { socket, text };
  };
  const first = await ask();
  t.is(statusOf(first.text), 'HTTP/1.1 200 OK');
  t.is(statusOf((await ask()).text), 'HTTP/1.1 200 OK');
  t.is((await ask()).text, '');
  t.is(counters.of('connections_refused', 'too_many_from_address'), 1);
  first.socket.destroy();
  await sleep(50);
  t.is(statusOf((await ask()).text), 'HTTP/1.1 200 OK');
});

test('a device has its own connections over IPv6, beside all that another device has', async (t) => {
  const settings = { TRUSTED_PROXIES: 'fd00::/8,fd00::80' };
  const { server, services } = await listen(t, { connectionsPerAddressMax: 1 }, settings);
  const connectFrom = (address: string): Socket => {
    const socket = new Socket();
    Object.defineProperty(socket, 'remoteAddress', { value: address });
    t.teardown(() => socket.destroy());
    server.listener.emit('connection', socket);
    return socket;
  };
  t.false(connectFrom('fd00::2').destroyed);
  t.true(connectFrom('fd00::2').destroyed);
  t.false(connectFrom('fd00::3').destroyed);
  for (let i = 0; i < 2; i += 1) t.false(connectFrom('fd00::80').destroyed, 'a named proxy');
  t.is(services.counters.of('connections_refused', 'too_many_from_address'), 1);
});

test('the limits that serve leave room for real clients', (t) => {
  t.true(HTTP_LIMITS.keepAliveMs > 60_000, 'longer than proxies keep theirs');
  t.true(HTTP_LIMITS.headersMs < HTTP_LIMITS.requestMs);
  // 8,000,000 bytes within the time: a client of 1.1 Mbit/s may send the greatest configuration.
  t.true((8_000_000 * 8) / (HTTP_LIMITS.requestMs / 1_000) < 1_100_000);
});
