// Log lines: readable for people.

import { Writable } from 'node:stream';
import test from 'ava';
import { createLog, textStream } from '../../../lib/observe/log.ts';

function collect(): { lines: () => string; out: Writable } {
  let text = '';
  const out = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  return { lines: () => text, out };
}

test('a line is time, level, message, fields', (t) => {
  const { lines, out } = collect();
  textStream(out).write(
    '{"level":"info","time":"2026-11-20T12:00:00.000Z","port":51820,"tun":"wg0","x":null,"msg":"up"}\n',
  );
  t.is(lines(), '2026-11-20T12:00:00.000Z info  up port=51820 tun=wg0 x=null\n');
});

test('an error is shown with its stack', (t) => {
  const { lines, out } = collect();
  textStream(out).write(
    '{"level":"error","time":"t","err":{"type":"Error","message":"m","stack":"Error: m\\n at x"},"msg":"failed"}\n',
  );
  t.is(lines(), 't error failed err=\nError: m\n at x\n');
});

test('lines below the level are not made', (t) => {
  const log = createLog({ logFormat: 'json', logLevel: 'error' });
  t.false(log.isLevelEnabled('warn'));
  t.true(log.isLevelEnabled('error'));
});
