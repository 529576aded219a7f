// A request at a socket: what arrives there, and how it ends where nobody listens or answers.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import test from 'ava';
import { askSocket } from '../../../lib/cli/ask-socket.ts';
import { temporaryFolder } from '../../support/suite/temporary-folder.ts';

const socket = join(temporaryFolder('postern-ask-'), 'asked.sock');
const question = { method: 'POST', path: '/there', body: { rule: 1 } } as const;

test('a question arrives whole, and its answer is given while it arrives', async (t) => {
  const server = createServer((request, response) => {
    const { method, url, headers } = request;
    void json(request).then((body) =>
      response.writeHead(403).end(JSON.stringify({ method, url, host: headers.host, body })),
    );
  });
  t.teardown(() => server.close());
  await once(server.listen(socket), 'listening');
  const response = await askSocket(socket, question);
  t.is(response.statusCode, 403);
  const arrived = { method: 'POST', url: '/there', host: 'localhost', body: question.body };
  t.deepEqual(JSON.parse(await text(response)), arrived);
});

test('nobody listens, and nobody answers in time', async (t) => {
  await t.throwsAsync(askSocket(`${socket}-none`, question), { code: 'ENOENT' });
  const silent = createServer(() => undefined);
  t.teardown(() => {
    silent.close();
    silent.closeAllConnections();
  });
  await once(silent.listen(`${socket}-silent`), 'listening');
  const asked = askSocket(`${socket}-silent`, question, AbortSignal.timeout(50));
  await t.throwsAsync(asked, { name: 'AbortError' });
});
