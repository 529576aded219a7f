// The bundle (tools/bundle.ts): made into a folder of its own, far from the repository and its
// packages, and used as a program. What it loads when it is first needed is needed here.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { isFresh, makeBundle, sourcesHash, writeParts } from '../tools/bundle.ts';
import { hashOf } from '../tools/release/sums.ts';
import { openProvider, samlMetadata } from './support/auth/identity-provider.ts';
import { oidcEntry, samlEntry } from './support/auth/provider-entries.ts';
import { PATH_TO_NODE, WITHOUT_WARM_UP } from './support/gateway/launcher.ts';
import { freeUdpPort } from './support/network/free-port.ts';
import { temporaryFolder } from './support/suite/temporary-folder.ts';

const exec = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '..');
const folder = temporaryFolder('postern-bundle-');
const bundle = join(folder, 'postern');
const TOKEN = `pst_${'b'.repeat(43)}`;

let made: Promise<void> | null = null;

/** Waits until there is a bundle, which the first test makes. */
async function makeOnce(): Promise<void> {
  made ??= makeBundle(bundle);
  await made;
}

interface Served {
  readonly api: string;
  readonly get: (path: string) => Promise<Response>;
  readonly output: () => string;
}

/** A gateway of the bundle without a TUN. */
async function serve(t: ExecutionContext, settings: Record<string, string> = {}): Promise<Served> {
  await makeOnce();
  const data = mkdtempSync(join(tmpdir(), 'postern-bundled-'));
  t.teardown(() => rmSync(data, { recursive: true, force: true }));
  const child = spawn(join(bundle, 'lib/postern'), ['serve'], {
    cwd: data,
    env: {
      PATH: PATH_TO_NODE,
      ...WITHOUT_WARM_UP,
      DATA_DIR: join(data, 'data'),
      HTTP_HOST: '127.0.0.1',
      HTTP_PORT: '0',
      EXTERNAL_URL: 'http://localhost/',
      WIREGUARD_TUN: 'off',
      WIREGUARD_PORT: String(await freeUdpPort()),
      WIREGUARD_UAPI: 'off',
      BOOTSTRAP_API_TOKEN: TOKEN,
      LOG_FORMAT: 'json',
      ...settings,
    },
  });
  t.teardown(async () => {
    const ended = child.exitCode === null ? once(child, 'exit') : null;
    child.kill('SIGTERM');
    await ended;
  });
  let output = '';
  const ready = new Promise<string>((done, fail) => {
    const keep = (chunk: Buffer): void => {
      output += chunk.toString();
      const api = /"api":"([^"]+)"/.exec(output)?.[1];
      if (api !== undefined) done(api);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('exit', () => fail(new Error(output)));
  });
  const api = await ready;
  const get = (path: string) =>
    fetch(`${api}${path}`, { headers: { authorization: `Bearer ${TOKEN}` }, redirect: 'manual' });
  return { api, get, output: () => output };
}

test('it is as fresh as its sources', async (t) => {
  await makeOnce();
  t.true(isFresh(bundle));
  t.false(isFresh(bundle, 'other'));
  t.false(isFresh(folder, sourcesHash()));
});

test('its bytes do not depend on the place where it is made', async (t) => {
  const filesOf = async (place: string): Promise<Record<string, string>> => {
    await writeParts(place);
    const files = readdirSync(place, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(place.length), hashOf(path)] as const);
    return Object.fromEntries(files);
  };
  const near = await filesOf(join(folder, 'near'));
  t.true(Object.keys(near).length > 100);
  t.deepEqual(await filesOf(join(folder, 'a/place/further/down')), near);
});

test('it has no TypeScript, what is not its own by licence, and a map for each script', async (t) => {
  await makeOnce();
  const names = readdirSync(bundle, { recursive: true, encoding: 'utf8' });
  const own = names.filter((name) => !name.startsWith('node_modules/'));
  t.deepEqual(
    own.filter((name) => name.endsWith('.ts')),
    [],
  );
  for (const name of own.filter((path) => path.startsWith('chunks/') && path.endsWith('.js')))
    t.true(existsSync(join(bundle, `${name}.map`)), name);
  for (const name of own.filter((path) => path.endsWith('.js.map'))) {
    const { sources } = JSON.parse(readFileSync(join(bundle, name), 'utf8')) as {
      sources: string[];
    };
    // The place where the bundle was made would make other bytes of the same sources.
    t.deepEqual(
      sources.filter((path) => path.startsWith('../')),
      [],
      name,
    );
  }
  const licences = readFileSync(join(bundle, 'LICENSES-OF-PACKAGES'), 'utf8');
  for (const name of ['@hapi/hapi', 'sequelize', 'mysql2', '@node-saml/node-saml', 'jose'])
    t.regex(licences, new RegExp(`^${name} \\d`, 'm'));
});

test('V8 keeps each script with one byte a character, and none has tables of all countries', async (t) => {
  await makeOnce();
  const chunks = readdirSync(join(bundle, 'chunks')).filter((name) => name.endsWith('.js'));
  t.true(chunks.length > 20);
  for (const name of chunks) {
    const text = readFileSync(join(bundle, 'chunks', name), 'utf8');
    t.is(/[^\0-\x7f]/.exec(text), null, name);
    t.is(/Africa\/Abidjan|"en-ZW":|extensions:\["docx"\]/.exec(text)?.[0], undefined, name);
  }
});

test('commands answer, and each chunk can be loaded', async (t) => {
  await makeOnce();
  const env = { PATH: PATH_TO_NODE };
  const { stdout } = await exec(join(bundle, 'lib/postern'), ['--version'], { env });
  const checkout = await exec(join(ROOT, 'lib/postern'), ['--version'], { env });
  t.is(stdout, checkout.stdout);
  // Programs and threads aside, which begin their work.
  const program = `
    import { readdirSync } from 'node:fs';
    for (const name of readdirSync('.'))
      if (name.endsWith('.js')) await import(process.cwd() + '/' + name);
    console.log('loaded');`;
  const words = ['--input-type=module', '--eval', program];
  const loaded = await exec(process.execPath, words, { cwd: join(bundle, 'chunks') });
  t.regex(loaded.stdout, /loaded\n$/);
});

test('a gateway of it serves the API, pages, what pages load, and its documents', async (t) => {
  const { get, output } = await serve(t);
  t.is((await get('/readyz')).status, 200);
  t.is((await get('/v0/devices')).status, 200);
  const page = await (await get('/')).text();
  t.regex(page, /<form/);
  const assets = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!);
  t.true(assets.length > 0);
  const [, version = ''] = /\/assets\/([^/]+)\//.exec(assets[0]!) ?? [];
  const libraries = ['tweetnacl.js', 'uplot.js', 'uqr.js'];
  for (const path of [...assets, ...libraries.map((name) => `/assets/${version}/lib/${name}`)])
    t.is((await get(path)).status, 200, path);
  for (const path of ['/docs', '/docs/swagger-ui-bundle.js', '/v0/openapi.json', '/favicon.ico'])
    t.is((await get(path)).status, 200, path);
  t.regex(output(), /"engine":"native"/);
});

test('SAML and OpenID are loaded where an entry asks for them', async (t) => {
  const provider = await openProvider(t);
  const { api, get, output } = await serve(t);
  const saml = samlEntry({ metadata: samlMetadata() });
  const openid = oidcEntry({ discovery_document_uri: `${provider.origin}/discovery` });
  const answer = await fetch(`${api}/v0/configuration`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      configuration: {
        saml_identity_providers: [saml],
        openid_connect_providers: [openid],
      },
    }),
  });
  t.is(answer.status, 200, await answer.text());
  const ours = await get(`/auth/saml/sp/metadata/${saml.id}`);
  t.regex(await ours.text(), /SPSSODescriptor/, output());
  const begun = await get(`/auth/oidc/${openid.id}`);
  t.is(begun.status, 302);
  t.regex(begun.headers.get('location') ?? '', /code_challenge/);
});
