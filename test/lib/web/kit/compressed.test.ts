// Which encoding a request accepts, and files that are compressed once.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import test from 'ava';
import {
  acceptedEncoding,
  CompressedFiles,
  type Encoding,
} from '../../../../lib/web/kit/compressed.ts';

test('the best encoding that a request accepts is taken, and none that it refuses', (t) => {
  const expected: [header: string | undefined, encoding: Encoding | null][] = [
    [undefined, null],
    ['', null],
    ['identity', null],
    ['gzip', 'gzip'],
    ['gzip, deflate, br, zstd', 'br'],
    ['GZIP;q=0.5 , BR ; q=0.1', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0, gzip;q=0.000', null],
    ['br;q=x', null],
    ['*', 'br'],
    ['br;q=0, *;q=0.1', 'gzip'],
    ['*;q=0', null],
    ['brotli', null],
  ];
  for (const [header, encoding] of expected) t.is(acceptedEncoding(header), encoding, header);
});

test('a file is compressed once, and a failure is tried again', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-compressed-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'a.js');
  const files = new CompressedFiles();
  await t.throwsAsync(files.read(path, 'br'), { code: 'ENOENT' });
  writeFileSync(path, 'one '.repeat(1_000));
  const first = await files.read(path, 'br');
  t.true(first.length < 100);
  t.is(await files.read(path, 'br'), first);
  t.is(brotliDecompressSync(first).toString(), 'one '.repeat(1_000));
  t.is(gunzipSync(await files.read(path, 'gzip')).toString(), 'one '.repeat(1_000));
});
