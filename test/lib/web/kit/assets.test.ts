// The files that pages load: all of them are there, kept for ever under their hash, and nothing else
// of the disk is.

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import test from 'ava';
import { findAssets } from '../../../../lib/web/kit/assets.ts';
import { openServer } from '../../../support/api/server.ts';

test('every file is served with its type, and kept under the present version', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const { files, version } = findAssets();
  const names = Object.keys(files);
  for (const name of ['postern.css', 'postern.js', 'icon.svg', 'lib/tweetnacl.js', 'lib/uplot.js'])
    t.true(names.includes(name), name);
  for (const name of names) {
    const { statusCode, headers } = await server.inject(`/assets/${version}/${name}`);
    t.is(statusCode, 200, name);
    t.is(headers['cache-control'], 'public, max-age=31536000, immutable');
    t.is(headers['x-content-type-options'], 'nosniff');
    t.regex(String(headers['content-type']), /^(text\/(css|javascript)|image\/svg\+xml)/, name);
  }
});

test('what every page loads is one style sheet and one script', (t) => {
  const { files } = findAssets();
  for (const part of ['icons.css', 'lib/uplot.css', 'typed-again.js', 'search-key.js'])
    t.false(part in files, part);
  const sheet = String(files['postern.css']);
  for (const rule of ['.i-mail', '.u-legend', '.dense']) t.true(sheet.includes(rule), rule);
  t.regex(String(files['postern.js']), /^export const \{ .*\benliven\b.* \} = joined;$/m);
});

test('a page of another version gets its files, but may not keep them', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const { statusCode, headers } = await server.inject('/assets/of-yesterday/postern.css');
  t.is(statusCode, 200);
  t.is(headers['cache-control'], 'no-cache');
});

test('what is no such file is not there, wherever it leads', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  for (const path of [
    '../../../../package.json',
    '..%2f..%2f..%2fpackage.json',
    'postern.css/',
    'nothing.js',
    'constructor',
    '__proto__',
    '',
    '%00',
  ])
    t.is(
      (await server.inject(`/assets/x/${path}`)).statusCode === 200,
      path === 'postern.css/',
      path,
    );
});

test('files go out compressed to whom they may, each encoding with a tag of its own', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const { files, version } = findAssets();
  const ask = (name: string, headers: Record<string, string>) =>
    server.inject({ url: `/assets/${version}/${name}`, headers });
  for (const [name, file] of Object.entries(files)) {
    const plain = await ask(name, {});
    t.deepEqual(plain.rawPayload, file, name);
    t.is(plain.headers['content-encoding'], undefined, name);
    const accepts = { 'accept-encoding': 'gzip, deflate, br' };
    const [br, gzip] = [await ask(name, accepts), await ask(name, { 'accept-encoding': 'gzip' })];
    t.is(br.headers['content-encoding'], 'br', name);
    t.is(gzip.headers['content-encoding'], 'gzip', name);
    t.deepEqual(brotliDecompressSync(br.rawPayload), file, name);
    t.deepEqual(gunzipSync(gzip.rawPayload), file, name);
    t.is(new Set([plain, br, gzip].map(({ headers }) => headers.etag)).size, 3, name);
    for (const { headers } of [plain, br, gzip]) {
      t.is(headers.vary, 'accept-encoding', name);
      t.is(headers['cache-control'], 'public, max-age=31536000, immutable', name);
      t.is(headers['content-type'], plain.headers['content-type'], name);
    }
    const again = await ask(name, { ...accepts, 'if-none-match': String(br.headers.etag) });
    t.is(again.statusCode, 304, name);
    t.is(again.headers.vary, 'accept-encoding', name);
  }
});

test('the files of the dashboard are less than half as long as they were', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const { files, version } = findAssets();
  const names = [
    'postern.css',
    'postern.js',
    'dashboard.js',
    'device-live.js',
    'history.js',
    'lib/uplot.js',
  ];
  for (const encoding of ['br', 'gzip']) {
    let [sent, plain] = [0, 0];
    for (const name of names) {
      const headers = { 'accept-encoding': encoding };
      const { rawPayload } = await server.inject({ url: `/assets/${version}/${name}`, headers });
      sent += rawPayload.length;
      plain += files[name]?.length ?? 0;
    }
    t.log(`${encoding}: ${sent} of ${plain} bytes`);
    t.true(sent < plain / 2, `${encoding}: ${sent} of ${plain} bytes`);
  }
});

test('pages, which hold secrets, are never compressed', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const { headers } = await server.inject({ url: '/', headers: { 'accept-encoding': 'br, gzip' } });
  t.is(headers['content-encoding'], undefined);
});
