// The documents of a provider are checked when its entry is new or changed, over HTTP:
// docs/api.md#provider-entries. discovery.test.ts and saml-metadata.test.ts test what can be wrong
// in a document.

import test from 'ava';
import { currentRevision } from '../../../../models/index.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import {
  discoveryDocument,
  openProvider,
  samlMetadata,
} from '../../../support/auth/identity-provider.ts';
import { type Answer, openServer, refused } from '../../../support/api/server.ts';

const path = '/v0/configuration';
const discoveryLimits = { timeoutMs: 30_000, bytesMax: 20_000 };
/** A provider that never answers is given up soon; one that answers has the time of a slow machine. */
const SOON_MS = 3_000;
const openid = (id: string, discovery_document_uri: string) => ({
  id,
  label: 'l',
  client_id: 'c',
  client_secret: 's',
  discovery_document_uri,
  auto_create_users: false,
});
const saml = (id: string, metadata: string) => ({
  id,
  label: 'l',
  metadata,
  auto_create_users: true,
});

for (const kind of databaseKinds()) {
  const open = async (t: Parameters<typeof openServer>[0], limits = discoveryLimits) => {
    const server = await openServer(t, kind, {}, { discoveryLimits: limits });
    const put = (configuration: object): Promise<Answer> =>
      server.send('PUT', path, { body: { configuration } });
    return { ...server, put };
  };

  test(`${kind}: documents are fetched for entries that are new or changed, and for no others`, async (t) => {
    const { put, send } = await open(t);
    const { origin, asked } = await openProvider(t);
    const [a, b] = [openid('a', `${origin}/a`), openid('b', `${origin}/b`)];
    const first = await put({ openid_connect_providers: [a, b] });
    t.is(first.status, 200, first.text);
    t.deepEqual(asked.toSorted(), ['/a', '/b']);
    asked.length = 0;
    await put({ openid_connect_providers: [b, a] });
    await put(first.body.data);
    await put({ local_auth_enabled: false });
    t.deepEqual(asked, [], 'an entry that exists is not fetched again');
    await put({ openid_connect_providers: [a, { ...b, label: 'other' }] });
    t.deepEqual(asked, ['/b'], 'what changed is');
    asked.length = 0;
    await put({
      openid_connect_providers: [a, openid('c', `${origin}/b`), openid('d', `${origin}/b`)],
    });
    t.deepEqual(asked, ['/b'], 'one address is asked once');
    t.is((await send('GET', path)).body.data.openid_connect_providers.length, 3);
  });

  test(`${kind}: a bad document is reported at its entry, and nothing is saved`, async (t) => {
    const { put, database } = await open(t, { ...discoveryLimits, timeoutMs: SOON_MS });
    const { origin } = await openProvider(t, (request, response) => {
      if (request.url === '/gone') response.writeHead(404).end();
      else if (request.url === '/page') response.end('<html/>');
      else if (request.url !== '/slow') response.end(JSON.stringify(discoveryDocument('http://x')));
    });
    const revision = await currentRevision(database);
    const answer = await put({
      vpn_session_duration: 5,
      openid_connect_providers: [
        openid('good', `${origin}/good`),
        openid('gone', `${origin}/gone`),
        { ...openid('page', `${origin}/page`), label: '' },
        openid('slow', `${origin}/slow`),
        openid('text', 'id.example'),
      ],
      saml_identity_providers: [saml('one', samlMetadata()), saml('two', '<html/>')],
    });
    t.is(answer.status, 422);
    const uri = (text: string) => ({ discovery_document_uri: [text] });
    t.deepEqual(
      answer.body,
      refused({
        openid_connect_providers: [
          {},
          uri('is invalid. Reason: its address answered with status 404'),
          { label: ["can't be blank"], ...uri('is invalid. Reason: it is not JSON') },
          uri('is invalid. Reason: it was not there within 3 s'),
          uri('does not contain a scheme or a host'),
        ],
        saml_identity_providers: [
          {},
          {
            metadata: [
              'is invalid. Details: it does not describe an identity provider of SAML 2.0',
            ],
          },
        ],
      }),
    );
    t.is(await currentRevision(database), revision);
  });

  test(`${kind}: a dead provider never blocks another setting`, async (t) => {
    const { put } = await open(t);
    let isDead = false;
    const { origin } = await openProvider(t, (_request, response) => {
      if (isDead) response.destroy();
      else response.end(JSON.stringify(discoveryDocument('http://x')));
    });
    const standing = openid('a', origin);
    const first = await put({ openid_connect_providers: [standing] });
    isDead = true;
    t.is((await put({ ...first.body.data, vpn_session_duration: 9 })).status, 200);
    t.is((await put({ openid_connect_providers: [standing] })).status, 200);
    t.is((await put({ openid_connect_providers: [{ ...standing, label: 'x' }] })).status, 422);
    t.is((await put({ openid_connect_providers: [] })).status, 200);
  });

  test(`${kind}: a list that is refused as a whole is not fetched`, async (t) => {
    const { origin, asked } = await openProvider(t);
    const { send } = await openServer(t, kind, { OPENID_CONNECT_PROVIDERS: '[]' });
    const configuration = { openid_connect_providers: [openid('a', origin)] };
    const { body } = await send('PATCH', path, { body: { configuration } });
    const name = 'OPENID_CONNECT_PROVIDERS';
    t.deepEqual(
      body,
      refused({
        openid_connect_providers: [
          `cannot be changed; it is overridden by ${name} environment variable`,
        ],
      }),
    );
    t.deepEqual(asked, []);
  });

  test(`${kind}: slow documents are fetched in parallel, and no lock is held meanwhile`, async (t) => {
    const { put, send } = await open(t);
    const answers: (() => void)[] = [];
    const allAsked = Promise.withResolvers<void>();
    const { origin } = await openProvider(t, (_request, response) => {
      answers.push(() => response.end(JSON.stringify(discoveryDocument('http://x'))));
      if (answers.length === 8) allAsked.resolve();
    });
    const slow = put({
      openid_connect_providers: Array.from({ length: 8 }, (_, i) =>
        openid(`${i}`, `${origin}/${i}`),
      ),
    });
    await allAsked.promise;
    const other = await send('PATCH', path, {
      body: { configuration: { vpn_session_duration: 7 } },
    });
    t.is(other.status, 200, 'the other write does not wait');
    for (const answer of answers) answer();
    t.is((await slow).status, 200, (await slow).text);
    t.is((await send('GET', path)).body.data.vpn_session_duration, 7);
  });
}
