// Which encoding a request accepts, and files that are compressed once.

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

test('a file is compressed once', async (t) => {
  const text = 'one '.repeat(1_000);
  const files = new CompressedFiles({ 'a.js': Buffer.from(text) });
  const first = await files.read('a.js', 'br');
  t.true(first.length < 100);
  t.is(await files.read('a.js', 'br'), first);
  t.is(brotliDecompressSync(first).toString(), text);
  t.is(gunzipSync(await files.read('a.js', 'gzip')).toString(), text);
});
