// Bodies of strangers: together they hold a budget of bytes, and who stalls makes room for others.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { unauthorized } from '@hapi/boom';
import Hapi, { type Server } from '@hapi/hapi';
import test, { type ExecutionContext } from 'ava';
import { bodyBudget } from '../../../../lib/kit/http/body-budget.ts';
import { Counters } from '../../../../lib/kit/process/counters.ts';

const BUDGET = 10_000;

async function open(t: ExecutionContext) {
  const counters = new Counters();
  const server = Hapi.server({ host: '127.0.0.1', port: 0 });
  await server.register({ plugin: bodyBudget, options: { counters, budgetBytes: BUDGET } });
  server.auth.scheme('word', () => ({
    authenticate: ({ headers }, h) =>
      headers['authorization'] === 'good'
        ? h.authenticated({ credentials: {} })
        : h.unauthenticated(unauthorized('nobody')),
  }));
  server.auth.strategy('word', 'word', {});
  const handler = (): string => 'done';
  const read = { payload: { maxBytes: 100_000 } } as const;
  server.route([
    { method: 'POST', path: '/open', options: { ...read, auth: false }, handler },
    {
      method: 'POST',
      path: '/try',
      options: { ...read, auth: { strategy: 'word', mode: 'try' } },
      handler,
    },
    { method: 'POST', path: '/known', options: { ...read, auth: 'word' }, handler },
  ]);
  await server.start();
  t.teardown(() => server.stop({ timeout: 0 }));
  return { server, refused: () => counters.of('requests_refused', 'strangers_bodies_full') };
}

/** Sends the head of a request, which promises 50,000 bytes, and some of them. */
function stall(
  t: ExecutionContext,
  server: Server,
  path: string,
  bytes: number,
  header = '',
): Socket {
  const socket = connect(Number(server.info.port), '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined).resume();
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\n${header}content-length: 50000\r\n\r\n${'x'.repeat(bytes)}`,
  );
  return socket;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(10);
}

for (const path of ['/open', '/try'])
  test(`${path}: who has been sending for the longest makes room`, async (t) => {
    const { server, refused } = await open(t);
    const first = stall(t, server, path, 6_000);
    await sleep(200);
    const second = stall(t, server, path, 3_000);
    await sleep(200);
    t.is(refused(), 0);
    t.false(first.closed);
    const { port } = server.info;
    const body = 'x'.repeat(5_000);
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body });
    t.is(await answer.text(), 'done', 'an honest body is served');
    await until(() => first.closed);
    t.is(refused(), 1);
    t.false(second.closed);
    // What ended holds nothing any more.
    for (let i = 0; i < 10; i += 1)
      t.is((await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body })).status, 200);
    t.is(refused(), 1);
  });

test('who is known does not count', async (t) => {
  const { server, refused } = await open(t);
  const known = stall(t, server, '/try', 20_000, 'authorization: good\r\n');
  const stranger = stall(t, server, '/try', 8_000);
  await sleep(300);
  t.is(refused(), 0);
  t.false(known.closed || stranger.closed);
});

test('where only who is known may go on, a stranger is answered before the body', async (t) => {
  const { server, refused } = await open(t);
  const known = stall(t, server, '/known', 20_000, 'authorization: good\r\n');
  const stranger = stall(t, server, '/known', 8_000);
  const [answer] = (await once(stranger, 'data')) as [Buffer];
  t.regex(answer.toString(), /^HTTP\/1\.1 401 /);
  t.is(refused(), 0);
  t.false(known.closed);
});

test('a body larger than the budget ends by itself', async (t) => {
  const { server, refused } = await open(t);
  const socket = stall(t, server, '/open', 20_000);
  await until(() => socket.closed);
  t.is(refused(), 1);
});
