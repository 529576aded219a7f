// The gate before a server, with real connections: who may go on is decided by the test.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { isForwarded } from '../../../../lib/kit/http/client-address.ts';
import {
  type GateOptions,
  guardListener,
  type Refusal,
  refusals,
} from '../../../../lib/kit/http/gate.ts';
import { TunnelAddresses } from '../../../../lib/kit/http/tunnel-addresses.ts';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import { configOf } from '../../../support/api/server.ts';

interface Scene {
  readonly server: Server;
  readonly counters: Counters;
  readonly refused: string[];
  /** What the keeper was asked to do, in order. */
  readonly asked: string[];
  /** Decides; changed by tests. */
  rule: (url: string) => Refusal | null | Promise<Refusal | null>;
  readonly dial: () => Client;
}

interface Client {
  readonly socket: Socket;
  /** Sends requests in one go; resolves to the answers that came until so many were there. */
  readonly ask: (text: string, count: number) => Promise<string[]>;
  readonly ended: Promise<unknown>;
}

const GET = (path: string, ...headers: string[]): string =>
  [`GET ${path} HTTP/1.1`, 'host: a', ...headers, '', ''].join('\r\n');

async function scene(
  t: ExecutionContext,
  options: Partial<GateOptions> = {},
  isOn = true,
): Promise<Scene> {
  const counters = new Counters();
  const refused: string[] = [];
  const asked: string[] = [];
  const server = createServer((_request, response) => response.end('answered'));
  const made = {
    server,
    counters,
    refused,
    asked,
    rule: (url: string) => (url === '/bad' ? refusals.stranger : null),
  };
  guardListener(server, {
    keeper: {
      isOn,
      scopeOf: new TunnelAddresses(configOf()).scopeOf,
      check: ({ url = '' }, scope) => {
        asked.push(`${url} of ${scope}`);
        return opened.rule(url);
      },
      isKnown: ({ url }) => url === '/known',
      knock: (scope) => {
        asked.push(`knock of ${scope}`);
        return 'taken';
      },
      giveBack: (scope) => asked.push(`give back to ${scope}`),
      take: (scope) => asked.push(`take of ${scope}`),
    },
    counters,
    addressOf: ({ socket, headers }) =>
      String(headers['x-forwarded-for'] ?? socket.remoteAddress ?? ''),
    isProxy: () => false,
    mayBeProxy: () => true,
    isForwarded,
    isTls: false,
    onRefused: ({ url = '' }) => refused.push(url),
    ...options,
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const opened: Scene = { ...made, dial: () => dial(t, server) };
  return opened;
}

function dial(t: ExecutionContext, server: Server): Client {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  let received = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
  socket.on('error', () => undefined);
  const ended = once(socket, 'close');
  const ask = async (text: string, count: number): Promise<string[]> => {
    received = '';
    socket.write(text);
    for (let i = 0; i < 500; i += 1) {
      const answers = received.split(/(?=HTTP\/1\.1 )/).filter((one) => one.includes('\r\n\r\n'));
      if (answers.length >= count || (socket.destroyed && i > 0)) return answers;
      await sleep(5);
    }
    throw new Error(`only ${received}`);
  };
  return { socket, ask, ended };
}

test('who may not go on gets a short constant answer, and the connection stays', async (t) => {
  const { dial: open, counters, refused } = await scene(t);
  const client = open();
  const [answer = ''] = await client.ask(GET('/bad'), 1);
  t.regex(answer, /^HTTP\/1\.1 429 Too Many Requests\r\n/);
  t.regex(answer, /\r\ncontent-type: application\/json; charset=utf-8\r\n/);
  t.regex(answer, /\r\nretry-after: 1\r\n/);
  t.regex(answer, /\r\n\r\n\{"error":"too_many_requests"\}$/);
  t.is(counters.of('requests_refused', 'too_many_of_address'), 1);
  t.deepEqual(refused, ['/bad']);
  t.regex((await client.ask(GET('/good'), 1))[0] ?? '', /^HTTP\/1\.1 200 /);
});

test('a HEAD and a request with a body are refused in form, and the next one is understood', async (t) => {
  const { dial: open } = await scene(t);
  const client = open();
  const [head = ''] = await client.ask(GET('/bad').replace('GET', 'HEAD'), 1);
  t.regex(head, /^HTTP\/1\.1 429 .*\r\n\r\n$/s);
  const body = 'POST /bad HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello';
  t.regex((await client.ask(body, 1))[0] ?? '', /^HTTP\/1\.1 429 /);
  t.regex((await client.ask(GET('/good'), 1))[0] ?? '', /^HTTP\/1\.1 200 /);
});

for (const [says, header] of [
  ['a large body', 'content-length: 65537'],
  ['a body of unknown size', 'transfer-encoding: chunked'],
] as const)
  test(`${says} is not waited for: the connection ends`, async (t) => {
    const { dial: open } = await scene(t);
    const client = open();
    const [answer = ''] = await client.ask(`POST /bad HTTP/1.1\r\nhost: a\r\n${header}\r\n\r\n`, 1);
    t.regex(answer, /\r\nconnection: close\r\n/i);
    await client.ended;
  });

test('a connection ends after ten refusals in a row, and one that passes begins the count anew', async (t) => {
  const { dial: open } = await scene(t);
  const client = open();
  for (let i = 0; i < 9; i += 1) await client.ask(GET('/bad'), 1);
  t.regex((await client.ask(GET('/good'), 1))[0] ?? '', /^HTTP\/1\.1 200 /);
  for (let i = 0; i < 9; i += 1)
    t.notRegex((await client.ask(GET('/bad'), 1))[0] ?? '', /connection: close/i);
  t.regex((await client.ask(GET('/bad'), 1))[0] ?? '', /\r\nconnection: close\r\n/i);
  await client.ended;
});

for (const [says, options, header] of [
  ['that is trusted', { isProxy: () => true, mayBeProxy: () => true }, 'x-other: 1'],
  ['of this host that nobody named', {}, 'x-forwarded-for: 192.0.2.1'],
] as const)
  test(`the connection of a proxy ${says} is never ended`, async (t) => {
    const { dial: open } = await scene(t, options);
    const client = open();
    for (let i = 0; i < 25; i += 1) {
      const [answer = ''] = await client.ask(GET('/bad', header), 1);
      t.regex(answer, /^HTTP\/1\.1 429 /);
      t.notRegex(answer, /connection: close/i);
    }
  });

test('a stranger who says to be a proxy is none', async (t) => {
  const { dial: open } = await scene(t, { mayBeProxy: () => false });
  const client = open();
  for (let i = 0; i < 10; i += 1) await client.ask(GET('/bad', 'x-forwarded-for: 192.0.2.1'), 1);
  await client.ended;
  t.pass();
});

test('requests of one connection are checked by the address that each is from', async (t) => {
  const { dial: open, asked } = await scene(t);
  const client = open();
  await client.ask(GET('/a'), 1);
  await client.ask(GET('/b', 'x-forwarded-for: 2001:db8:1:2:3::4'), 1);
  await client.ask(GET('/c'), 1);
  t.deepEqual(asked, ['/a of 127.0.0.1', '/b of 2001:db8:1:2', '/c of 127.0.0.1']);
});

test('a decision that takes time is waited for; where none comes, the connection ends', async (t) => {
  const opened = await scene(t);
  opened.rule = async (url) => {
    await sleep(10);
    if (url === '/error') throw new Error('no decision');
    return url === '/bad' ? refusals.writes : null;
  };
  const client = opened.dial();
  const [answer = ''] = await client.ask(GET('/bad'), 1);
  t.true(answer.endsWith(`\r\n\r\n${refusals.writes.body}`), answer);
  t.is(opened.counters.of('requests_refused', 'too_many_writes_of_user'), 1);
  t.regex((await client.ask(GET('/good'), 1))[0] ?? '', /^HTTP\/1\.1 200 /);
  client.socket.write(GET('/error'));
  await client.ended;
});

test('requests of strangers are served in turns, one of somebody known waits for none', async (t) => {
  const { server } = await scene(t);
  const served: string[] = [];
  server.removeAllListeners('request');
  server.on('request', ({ url = '' }) => served.push(url));
  guardListener(server, {
    counters: new Counters(),
    addressOf: () => '',
    isProxy: () => false,
    mayBeProxy: () => false,
    isForwarded,
    isTls: false,
    onRefused: () => undefined,
    keeper: {
      isOn: true,
      scopeOf: (address) => address,
      check: () => null,
      isKnown: ({ url }) => url === '/known',
      knock: () => 'free',
      giveBack: () => undefined,
      take: () => undefined,
    },
  });
  const emit = (url: string): void => {
    server.emit('request', { url, headers: {}, socket: {} }, {});
  };
  for (let i = 0; i < 20; i += 1) emit(String(i));
  emit('/known');
  t.deepEqual(served, ['0', '1', '2', '/known']);
  for (let i = 0; served.length < 21 && i < 1_000; i += 1) await sleep(5);
  t.deepEqual(
    served.slice(4),
    Array.from({ length: 17 }, (_, i) => String(i + 3)),
  );
});

test('who sends ever more before the answers loses the connection', async (t) => {
  const opened = await scene(t, { isProxy: () => true });
  const client = opened.dial();
  client.socket.write(GET('/bad').repeat(200));
  await client.ended;
  t.true(opened.refused.length < 60, String(opened.refused.length));
});

test('where nothing is limited, nothing is before the server', async (t) => {
  const { dial: open, asked } = await scene(t, {}, false);
  t.regex((await open().ask(GET('/bad'), 1))[0] ?? '', /^HTTP\/1\.1 200 /);
  t.deepEqual(asked, []);
});

test('a handshake takes one, and gets it back when the first request passes', async (t) => {
  const { dial: open, asked } = await scene(t, { isTls: true });
  const client = open();
  await client.ask(GET('/good'), 1);
  await client.ask(GET('/good'), 1);
  t.deepEqual(asked, [
    'knock of 127.0.0.1',
    'give back to 127.0.0.1',
    '/good of 127.0.0.1',
    '/good of 127.0.0.1',
  ]);
});

test('a handshake whose first request is refused stays paid', async (t) => {
  const { dial: open, asked } = await scene(t, { isTls: true });
  await open().ask(GET('/bad'), 1);
  t.deepEqual(asked, [
    'knock of 127.0.0.1',
    'give back to 127.0.0.1',
    '/bad of 127.0.0.1',
    'take of 127.0.0.1',
  ]);
});

test('a handshake of a proxy costs nothing', async (t) => {
  const { dial: open, asked } = await scene(t, { isTls: true, isProxy: () => true });
  await open().ask(GET('/good'), 1);
  t.deepEqual(asked, ['/good of 127.0.0.1']);
});

test('a handshake of who has none left is ended and counted', async (t) => {
  const counters = new Counters();
  const { dial: open } = await scene(t, {
    isTls: true,
    counters,
    keeper: {
      isOn: true,
      scopeOf: (address) => address,
      check: () => null,
      isKnown: () => false,
      knock: () => 'refused',
      giveBack: () => undefined,
      take: () => undefined,
    },
  });
  await open().ended;
  t.is(counters.of('connections_refused', 'too_many_handshakes'), 1);
});
