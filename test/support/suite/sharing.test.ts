// Which test files share a process, and that a test of such a file fails as any other.

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { findTests, inOwnProcess, share, sharing } from './sharing.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

test('each unit test runs in exactly one process', (t) => {
  const files = findTests([
    'test/{config,dataplane,tidy}/**/*.test.ts',
    '!test/config/mail.test.ts',
  ]);
  const runs = share('trial', files, 5);
  t.teardown(() => rmSync(join(ROOT, 'test/artefacts/processes/trial'), { recursive: true }));
  const written = runs.filter((file) => file.startsWith('test/artefacts/'));
  t.is(written.length, 5);
  const texts = written.map((file) => readFileSync(join(ROOT, file), 'utf8'));
  const loaded = texts.flatMap((text) =>
    [...text.matchAll(/"(test\/.+)"/g)].map((match) => match[1]!),
  );
  t.deepEqual(loaded.toSorted(), sharing(files));
  const others = runs.filter((file) => !written.includes(file));
  t.deepEqual([...loaded, ...others].toSorted(), files);
  t.false(files.includes('test/config/mail.test.ts'));
});

test('files that want a process of their own exist', (t) => {
  for (const file of Object.keys(inOwnProcess)) t.true(existsSync(join(ROOT, file)), file);
});

const FIRST = `
import test from 'ava';
const order = (globalThis.order = []);
test('waits', async (t) => {
  t.teardown(() => order.push('end of waits'));
  await new Promise((resolve) => setTimeout(resolve, 50));
  order.push('waits');
  t.pass();
});
test('fails', (t) => t.is(1, 2));
test.serial('is first', (t) => { order.push('is first'); t.pass(); });
`;
const SECOND = `
import test from 'ava';
test('fails', (t) => t.deepEqual(order, ['is first', 'waits', 'end of waits']));
test('throws', async () => { throw new Error('on purpose'); });
`;

test('files of one process run one after the other, and what fails is reported', async (t) => {
  mkdirSync(join(ROOT, 'test/artefacts'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, 'test/artefacts/shared-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const paths = ['first', 'second'].map((name) => join(folder, `${name}.test.ts`));
  for (const [i, text] of [FIRST, SECOND].entries()) writeFileSync(paths[i]!, text);
  const run = join(folder, 'run.test.ts');
  const files = JSON.stringify(paths.map((path) => relative(ROOT, path)));
  writeFileSync(
    run,
    `import { runInOneProcess } from '../../support/suite/shared-process.ts';
await runInOneProcess(${files});`,
  );
  const config = join(folder, 'ava.config.js');
  writeFileSync(
    config,
    `export default { extensions: ['ts'], files: ['${relative(ROOT, run)}'] };`,
  );
  const ava = join(ROOT, 'node_modules/.bin/ava');
  const { TEST_SECONDS: _noted, ...env } = process.env;
  const report = await new Promise<string>((done) =>
    execFile(
      process.execPath,
      [ava, '--tap', '--config', config],
      { cwd: ROOT, env },
      (_error, out) => done(out),
    ),
  );
  const lines = report.split('\n').filter((line) => /^(not )?ok/.test(line));
  const words = lines.map((line) => line.replace(/ \d+ - .*shared-[^/]*\//, ' '));
  t.deepEqual(words.toSorted(), [
    'not ok first › fails',
    'not ok second › throws',
    'ok first › is first',
    'ok first › waits',
    'ok second › fails',
  ]);
});
