// The files that pages load: all of them are there, kept for ever under their hash, and nothing else
// of the disk is.

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
