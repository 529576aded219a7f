// Discovery documents from a provider that is good, slow, huge, elsewhere, or talks nonsense.

import { gzipSync } from 'node:zlib';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { ServerResponse } from 'node:http';
import test from 'ava';
import { fetchDiscoveryDocument } from '../../../lib/auth/discovery.ts';
import { DocumentError } from '../../../lib/auth/documents.ts';
import { discoveryDocument, openProvider } from '../../support/auth/identity-provider.ts';

const limits = { timeoutMs: 20_000, bytesMax: 20_000 };
const brief = { ...limits, timeoutMs: 300 };
const document = discoveryDocument('http://id.example');

test('a good document is returned whole, from a loopback address over http', async (t) => {
  const { origin, asked } = await openProvider(t);
  const found = await fetchDiscoveryDocument(`${origin}/x?y=1`, limits);
  t.deepEqual(found, discoveryDocument(origin) as typeof found);
  t.deepEqual(asked, ['/x?y=1']);
});

test('a few redirects are followed, to other addresses too', async (t) => {
  const { origin } = await openProvider(t);
  const other = await openProvider(t, (request, response) => {
    const step = Number(request.url?.slice(1));
    const location = step < 3 ? `/${step + 1}` : `${origin}/found`;
    response.writeHead([301, 302, 307][step - 1] ?? 308, { location }).end('moved');
  });
  await t.notThrowsAsync(fetchDiscoveryDocument(`${other.origin}/1`, limits));
  await t.throwsAsync(fetchDiscoveryDocument(`${other.origin}/0`, limits), {
    instanceOf: DocumentError,
    message: 'its address redirects more than 3 times',
  });
});

const json = (value: unknown) => (response: ServerResponse) =>
  void response.end(JSON.stringify(value));

const { jwks_uri: _keys, ...withoutKeys } = document;
const bad: [says: string, answer: (response: ServerResponse) => void, message: string][] = [
  ['a page', (response) => response.end('<html>secret</html>'), 'it is not JSON'],
  ['nothing', (response) => response.end(), 'it is not JSON'],
  ['a list', json([document]), 'it is not a JSON object'],
  ['null', json(null), 'it is not a JSON object'],
  ['a document without keys', json(withoutKeys), 'its jwks_uri is missing'],
  ['an inherited issuer', json({ __proto__: document }), 'its issuer is missing'],
  [
    'a number for an issuer',
    json({ ...document, issuer: 5 }),
    'its issuer is no address of http or https',
  ],
  [
    'a script for an endpoint',
    json({ ...document, authorization_endpoint: 'javascript:alert(1)' }),
    'its authorization_endpoint is no address of http or https',
  ],
  [
    'the tenants of everybody at Entra',
    json({ ...document, issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0' }),
    'its issuer has a placeholder, because it serves the accounts of every organisation; take the address with the id of your own tenant in place of common or organizations',
  ],
  [
    'a page that is missing',
    (response) => response.writeHead(404).end(JSON.stringify(document)),
    'its address answered with status 404',
  ],
  [
    'a redirect to nowhere',
    (response) => response.writeHead(302, { location: 'http://[' }).end(),
    'its address redirects to nowhere',
  ],
  [
    'a redirect to a file',
    (response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    'its address redirects to something else than http or https',
  ],
  [
    'a redirect without an address',
    (response) => response.writeHead(302).end(),
    'its address answered with status 302',
  ],
  [
    'a long document',
    json({ ...document, more: 'x'.repeat(20_000) }),
    'it is larger than 20000 bytes',
  ],
  [
    'a small one that inflates',
    (response) =>
      response
        .writeHead(200, { 'content-encoding': 'gzip' })
        .end(gzipSync(JSON.stringify({ ...document, more: 'x'.repeat(5_000_000) }))),
    'it is larger than 20000 bytes',
  ],
  ['silence', () => undefined, 'it was not there within 0.3 s'],
  [
    'a document that never ends',
    (response) => {
      const timer = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
    },
    'it was not there within 0.3 s',
  ],
  ['a hang-up', (response) => response.destroy(), 'it cannot be fetched (UND_ERR_SOCKET)'],
];

for (const [says, answer, message] of bad)
  test(`${says} is refused`, async (t) => {
    const { origin } = await openProvider(t, (_request, response) => answer(response));
    const bounds = message.includes('within') ? brief : limits;
    await t.throwsAsync(fetchDiscoveryDocument(origin, bounds), {
      instanceOf: DocumentError,
      message,
    });
  });

test('redirects and a slow body share one time', async (t) => {
  const { origin } = await openProvider(t, (_request, response) => {
    setTimeout(() => response.writeHead(302, { location: '/again' }).end(), 120);
  });
  const beganMs = performance.now();
  await t.throwsAsync(fetchDiscoveryDocument(origin, brief), { message: /within 0\.3 s/ });
  t.true(performance.now() - beganMs < 5_000);
});

test('an address where nobody listens, and no HTTP at all', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end('SSH-2.0-OpenSSH secret banner\r\n'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await t.throwsAsync(fetchDiscoveryDocument(`http://127.0.0.1:${port}/`, limits), {
    message: /^it cannot be fetched \(\w+\)$/,
  });
  await new Promise((resolve) => server.close(resolve));
  await t.throwsAsync(fetchDiscoveryDocument(`http://127.0.0.1:${port}/`, limits), {
    message: 'it cannot be fetched (ECONNREFUSED)',
  });
});
