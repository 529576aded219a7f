// Log lines: readable for people, and without what errors may hold.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { Writable } from 'node:stream';
import test from 'ava';
import { DatabaseError } from 'sequelize';
import { createLog, describeError, textStream } from '../../../../lib/kit/process/log.ts';
import { scratchFolder } from '../../../support/database/full-database.ts';

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

const SECRET = 'pst_this-must-not-be-seen';

function databaseError(): DatabaseError {
  const parent = Object.assign(new Error(`SQLITE_ERROR: near "${SECRET}": syntax error`), {
    code: 'SQLITE_ERROR',
    sql: `UPDATE users SET email='${SECRET}'`,
  });
  return new DatabaseError(Object.assign(parent, { parameters: { $1: SECRET } }));
}

test('an error is described without what it may hold', (t) => {
  const described = describeError(databaseError());
  t.like(described, {
    type: 'SequelizeDatabaseError',
    code: 'SQLITE_ERROR',
    message: 'SQLITE_ERROR: near …',
    statement: 'UPDATE users',
  });
  const { stack } = described as { stack: string };
  t.regex(stack, /^SequelizeDatabaseError: SQLITE_ERROR: near … \(UPDATE users\)\n    at /);
  t.false(JSON.stringify(described).includes(SECRET));
  t.like(describeError(new RangeError('too far')), { type: 'RangeError', message: 'too far' });
  t.deepEqual(describeError('x'), { type: 'string' });
  const outer = describeError(new Error('a backup comes first', { cause: databaseError() }));
  t.regex((outer as { stack: string }).stack, /\ncaused by SequelizeDatabaseError: SQLITE_ERROR/);
  t.false(JSON.stringify(outer).includes(SECRET));
});

test('an error of the database that is logged as it is tells no more', async (t) => {
  const file = join(scratchFolder(t), 'log');
  const log = createLog({ logFormat: 'json', logLevel: 'info' }, fileStream(file));
  log.error({ err: databaseError() }, 'failed');
  log.error({ err: new RangeError('too far') }, 'failed');
  log.error({ err: describeError(databaseError()) }, 'failed');
  const lines = (): string[] => readFileSync(file, 'utf8').split('\n').slice(0, -1);
  // Only the first line is written at once.
  while (lines().length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  const [raw, other, described] = lines().map((line) => JSON.parse(line) as { err: object });
  t.like(raw?.err, { code: 'SQLITE_ERROR', statement: 'UPDATE users' });
  t.like(described?.err, { code: 'SQLITE_ERROR', statement: 'UPDATE users' });
  t.like(other?.err, { type: 'RangeError', message: 'too far' });
  t.false(readFileSync(file, 'utf8').includes(SECRET));
});

/** Standard output, as far as a log of JSON lines asks for it. */
function fileStream(path: string): NodeJS.WriteStream & { fd: number } {
  return { fd: openSync(path, 'w') } as NodeJS.WriteStream & { fd: number };
}

for (const format of ['text', 'json'])
  test(`a process goes on where whoever reads its ${format} log has gone`, async (t) => {
    const module = new URL('../../../../lib/kit/process/log.ts', import.meta.url).href;
    const script = `
      import { createLog } from '${module}';
      const log = createLog({ logFormat: '${format}', logLevel: 'info' });
      for (let i = 0; i < 40; i++) {
        log.info({ i }, 'a line');
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      process.stderr.write('it went on');`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await once(child.stdout, 'data');
    child.stdout.destroy();
    t.deepEqual(await once(child, 'close'), [0, null], said);
    t.is(said, 'it went on');
  });
