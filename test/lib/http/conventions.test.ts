// What holds for every request. The server's own test looks at it from outside.

import test from 'ava';
import { openServer } from '../../support/api/server.ts';

test('bytes and percent signs that encode nothing are read as they are', async (t) => {
  const { server, send } = await openServer(t, 'sqlite');
  server.route({
    method: 'GET',
    path: '/echo/{text}',
    options: { auth: false },
    handler: ({ params, query }) => ({ text: params['text'] as string, query }),
  });
  const raw = Buffer.from('jürgen', 'utf8').toString('latin1');
  const table: [path: string, text: string][] = [
    ['/echo/a%40b', 'a@b'],
    ['/echo/a+b', 'a+b'],
    ['/echo/a%2Bb', 'a+b'],
    ['/echo/a%2Fb', 'a/b'],
    ['/echo/100%', '100%'],
    ['/echo/100%zz%41', '100%zzA'],
    ['/echo/j%C3%BCrgen', 'jürgen'],
    [`/echo/${raw}/`, 'jürgen'],
  ];
  for (const [path, text] of table) t.is((await send('GET', path)).body?.text, text, path);
  t.deepEqual((await send('GET', `/echo/${raw}%?x=1&y=%41`)).body, {
    text: 'jürgen%',
    query: { x: '1', y: 'A' },
  });
});

test('a request that comes with an id of its own gets ours', async (t) => {
  const { send } = await openServer(t, 'sqlite');
  const headers = { 'x-request-id': 'mine' };
  const answer = await send('GET', '/healthz', { headers });
  t.not(answer.headers['x-request-id'], 'mine');
});
