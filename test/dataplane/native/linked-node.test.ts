// An addon that needs Node as a shared library is found by its bytes, and the message says what to do.

import test from 'ava';
import { linkedNodeFault } from '../../../dataplane/native/linked-node.ts';

/** An addon that names these libraries, between bytes that are no text. */
function addon(path: string, ...libraries: string[]) {
  const names = Buffer.from(`\0${libraries.join('\0')}\0`);
  return { path, bytes: Buffer.concat([Buffer.from([0x7f, 0x45, 0xff, 0x80]), names]) };
}

const right = addon('/a/postern.node', 'libstdc++.so.6', 'libc.so.6', 'libnode-like.so');

test('addons without the library are right, and so is none', (t) => {
  t.is(linkedNodeFault([]), null);
  t.is(linkedNodeFault([right]), null);
});

test('the message names the addons that need the library, and both remedies', (t) => {
  const wrong = addon('/b/node_sqlite3.node', 'libnode.so.108', 'libc.so.6');
  const message = linkedNodeFault([right, wrong]) ?? '';
  t.true(message.includes('/b/node_sqlite3.node'));
  t.false(message.includes('/a/postern.node'));
  t.regex(message, /Postern would crash when it ends/);
  t.regex(message, /^ +npx -y npm@10 ci$/m);
  t.regex(message, /^ +npm install -g npm@10, and then npm ci$/m);
});
