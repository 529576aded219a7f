// Where the gateway on this machine is asked. That it is asked, the program does: ready.test.ts.

import test from 'ava';
import { localUrl } from '../../../../lib/kit/http/ask-readiness.ts';
import { configOf } from '../../../support/api/server.ts';

test('the gateway is asked where it listens', (t) => {
  const urlOf = (environment: Record<string, string>): string =>
    localUrl(configOf(environment)).href;
  t.is(urlOf({}), 'http://127.0.0.1:13000/readyz');
  t.is(urlOf({ HTTP_HOST: '::' }), 'http://[::1]:13000/readyz');
  t.is(urlOf({ HTTP_HOST: '192.0.2.1', HTTP_PORT: '81' }), 'http://192.0.2.1:81/readyz');
  t.is(urlOf({ HTTP_TLS_CERT: '/c', HTTP_TLS_KEY: '/k' }), 'https://127.0.0.1:13000/readyz');
});
