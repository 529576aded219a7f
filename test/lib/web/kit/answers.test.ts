// How pages are put together: messages, redirects, what leaves for another site.

import Hapi, { type Request, type ResponseToolkit } from '@hapi/hapi';
import test, { type ExecutionContext } from 'ava';
import { Recall } from '../../../../lib/kit/records/recall.ts';
import { Sessions } from '../../../../lib/auth/sessions.ts';
import { Pages } from '../../../../lib/web/kit/answers.ts';
import { readOrCreateConfiguration } from '../../../../models/index.ts';
import { openDatabase } from '../../../support/database/databases.ts';
import { configOf, logInto } from '../../../support/api/server.ts';
import { Visitor } from '../../../support/web/visitor.ts';

type Handler = (pages: Pages, request: Request, h: ResponseToolkit) => unknown;

/** A visitor of a server that has these routes and nothing else. */
async function visit(
  t: ExecutionContext,
  routes: Record<string, Handler>,
  outside = '',
): Promise<Visitor> {
  const server = Hapi.server({ debug: false });
  const database = await openDatabase(t, 'sqlite');
  await readOrCreateConfiguration(database);
  const sessions = new Sessions({ config: configOf(), database, log: logInto([]) });
  const recall = new Recall(database);
  sessions.cookies.register(server);
  const pages = new Pages({ database, recall, sessions, outside });
  for (const [route, handler] of Object.entries(routes)) {
    const [method = '', path = ''] = route.split(' ');
    server.route({
      method: method as 'GET',
      path,
      handler: (request, h) => handler(pages, request, h) as never,
    });
  }
  return new Visitor({ server });
}

const error = (pages: Pages, request: Request, h: ResponseToolkit) =>
  pages.show(request, h, 'error', { title: 'A page', text: '', status: 200 });

test('a message is shown once, on the next page, as text', async (t) => {
  const visitor = await visit(t, {
    'POST /do': (pages, _request, h) => {
      pages.flash(h, 'done', 'Saved <b>“laptop”</b>.');
      return pages.redirect(h, '/next');
    },
    'GET /next': error,
  });
  t.is((await visitor.post('/do')).location, '/next');
  const next = await visitor.get('/next');
  t.true(
    next.text.includes('<p class="note done" role="status">Saved &lt;b&gt;“laptop”&lt;/b&gt;.'),
  );
  t.false((await visitor.get('/next')).text.includes('Saved'));
});

test('a message of somebody else, or of nobody, is not shown', async (t) => {
  const visitor = await visit(t, { 'GET /next': error });
  for (const value of ['x', 'MTphYmM6', Buffer.from('1:00000000:AAAA').toString('base64url')]) {
    visitor.cookies.set('postern-flash', value);
    const { status, text } = await visitor.get('/next');
    t.is(status, 200, value);
    t.false(text.includes('class="note'), value);
  }
});

test('links and redirects begin with the path of EXTERNAL_URL', async (t) => {
  const visitor = await visit(
    t,
    { 'GET /next': error, 'GET /go': (pages, _request, h) => pages.redirect(h, '/next') },
    '/vpn',
  );
  t.is((await visitor.get('/go')).location, '/vpn/next');
  const { text } = await visitor.get('/next');
  for (const [, address = ''] of text.matchAll(/(?:href|src|action)="([^"]*)"/g))
    t.regex(address, /^(\/vpn\/|#)/);
});

test('a form leads to another site by a page of its own', async (t) => {
  const url = 'https://login.example.com/end?x=<1>&y="2"';
  const leave: Handler = (pages, request, h) => pages.leave(request, h, url);
  const visitor = await visit(t, { 'GET /leave': leave, 'POST /leave': leave });
  t.is((await visitor.get('/leave')).location, url);
  const { status, headers, text } = await visitor.post('/leave');
  t.is(status, 200);
  t.is(headers['refresh'], `0;url=${new URL(url).href}`);
  t.true(text.includes('&lt;1&gt;'));
});

test('a template with an error is an error, not half a page', async (t) => {
  const visitor = await visit(t, {
    'GET /broken': (pages, request, h) =>
      pages.show(request, h, 'sign-in', { title: 'x', providers: null }),
    'GET /missing': (pages, request, h) => pages.show(request, h, 'nothing', { title: 'x' }),
  });
  for (const path of ['/broken', '/missing']) {
    const { status, text } = await visitor.get(path);
    t.is(status, 500);
    t.false(text.includes('<'));
  }
});
