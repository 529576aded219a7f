// Documents of providers: which types are asked for, and where a redirect may lead. The limits of
// size and time are tested with discovery documents and metadata.

import test from 'ava';
import { DocumentError, failureOf, fetchDocument } from '../../../lib/auth/documents.ts';
import { openProvider } from '../../support/auth/identity-provider.ts';

const limits = { timeoutMs: 20_000, bytesMax: 1_000 };

test('a document is requested by its type, and a redirect is checked before it is followed', async (t) => {
  const accepts: unknown[] = [];
  const { origin, asked } = await openProvider(t, ({ url, headers }, response) => {
    accepts.push(headers.accept);
    if (url === '/there') response.end('text');
    else response.writeHead(302, { location: '/there' }).end();
  });
  const checked: string[] = [];
  const wanted = (why: string | null) => ({
    accept: 'application/xml',
    refuse: (to: URL, from: URL) => {
      checked.push(`${from.pathname} ${to.pathname}`);
      return why;
    },
  });
  t.is(await fetchDocument(`${origin}/here`, wanted(null), limits), 'text');
  t.deepEqual(accepts, ['application/xml', 'application/xml']);
  await t.throwsAsync(fetchDocument(`${origin}/here`, wanted('nowhere good'), limits), {
    instanceOf: DocumentError,
    message: 'its address redirects to nowhere good',
  });
  t.deepEqual(asked, ['/here', '/there', '/here']);
  t.deepEqual(checked, ['/here /there', '/here /there']);
});

test('a failure has a code and shows no message of the other side', (t) => {
  t.is(failureOf(new TypeError('secret', { cause: { code: 'ECONNREFUSED' } })), 'ECONNREFUSED');
  t.is(failureOf(new TypeError('secret')), 'TypeError');
});
