// Bodies that are too slow end their connections; slow ones that keep the pace are read.

import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { BODY_PACE, paceBodies } from '../../../../lib/kit/http/body-pace.ts';
import { HTTP_LIMITS } from '../../../../lib/kit/http/listener.ts';

/** A server that reads bodies `afterMs` after they began; it notes what became of each. */
async function serve(t: ExecutionContext, afterMs = 0) {
  const codes: string[] = [];
  const server: Server = createServer((incoming, answer) => {
    incoming.on('error', () => undefined);
    incoming.once('end', () => answer.end('read'));
    setTimeout(() => incoming.resume(), afterMs);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    codes.push(error.code ?? '');
    socket.destroy();
  });
  // One byte each 10 ms, once 200 ms are over.
  paceBodies(server, { graceMs: 200, bytesPerSecondMin: 100 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const send = () => {
    const outgoing = request({ port, method: 'POST', headers: { 'content-length': '1000' } });
    const answered = once(outgoing, 'response').then(
      () => 'read',
      () => 'ended',
    );
    return { outgoing, answered };
  };
  return { codes, send };
}

test('a body that stops is given up', async (t) => {
  const { codes, send } = await serve(t);
  const { outgoing, answered } = send();
  outgoing.write('x');
  t.is(await answered, 'ended');
  t.deepEqual(codes, ['ERR_HTTP_REQUEST_TIMEOUT']);
});

test('a body that drips is given up', async (t) => {
  const { codes, send } = await serve(t);
  const { outgoing, answered } = send();
  const drip = setInterval(() => outgoing.write('x'), 50);
  t.is(await answered, 'ended');
  clearInterval(drip);
  t.deepEqual(codes, ['ERR_HTTP_REQUEST_TIMEOUT']);
});

test('a body that is late and keeps the pace is read', async (t) => {
  const { codes, send } = await serve(t);
  const { outgoing, answered } = send();
  // 900 bytes at once are nine seconds of the pace.
  outgoing.write('x'.repeat(900));
  await sleep(400);
  outgoing.end('x'.repeat(100));
  t.is(await answered, 'read');
  t.deepEqual(codes, []);
});

test('nobody pays for a server that does not read', async (t) => {
  const { codes, send } = await serve(t, 500);
  const { outgoing, answered } = send();
  outgoing.end('x'.repeat(1_000));
  t.is(await answered, 'read');
  t.deepEqual(codes, []);
});

test('the pace leaves a short body seconds and lets the greatest one in', (t) => {
  t.true(BODY_PACE.graceMs <= 5_000);
  const greatestMs = BODY_PACE.graceMs + (8_000_000 / BODY_PACE.bytesPerSecondMin) * 1_000;
  t.true(greatestMs > HTTP_LIMITS.requestMs, 'the time of the whole request binds first');
});
