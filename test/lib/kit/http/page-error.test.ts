// An error with words for a person: they see the words, programs the code.

import test from 'ava';
import { PageError } from '../../../../lib/kit/http/page-error.ts';
import { openServer } from '../../../support/api/server.ts';
import { Visitor } from '../../../support/web/visitor.ts';

test('title and text are shown, as text; the cause is not', async (t) => {
  const server = await openServer(t, 'sqlite');
  server.server.route({
    method: 'GET',
    path: '/provider',
    options: { auth: false },
    handler: () => {
      const said = { title: 'The provider did not answer', text: 'Okta <b>& co</b> is down.' };
      throw new PageError('bad_gateway', said, { cause: new Error('its own words') });
    },
  });
  const visitor = new Visitor(server);
  const shown = await visitor.get('/provider');
  t.is(shown.status, 502);
  t.regex(shown.text, /<h1>The provider did not answer<\/h1>/);
  t.true(shown.text.includes('Okta &lt;b&gt;&amp; co&lt;/b&gt; is down.'));
  t.false(shown.text.includes('its own words'));
  visitor.headers['accept'] = 'application/json';
  t.is((await visitor.get('/provider')).text, '{"error":"bad_gateway"}');
});
