// The examples of the documents, as they are printed, against a server that listens: only the address and the
// token are this server's. The end-to-end tests run them against a whole gateway. Those for test
// suites run in a project of their own that is linked to this one.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';
import { examplesOf, runShell } from './support/examples.ts';
import { newKey, openServer } from './support/server.ts';

const ROOT = join(import.meta.dirname, '..');
const ADDRESS = 'http://127.0.0.1:13000';

test('the examples of docs/guides/scripting.md work as they are printed', async (t) => {
  const { server, token } = await openServer(t, 'sqlite over a socket');
  const commands = examplesOf(join(ROOT, 'docs/guides/scripting.md')).join('\n');
  t.true(commands.includes('TOKEN=pst_...') && commands.includes(ADDRESS));
  const publicKey = newKey();
  const printed = await runShell(
    commands
      .replace('pst_...', token)
      .replaceAll(ADDRESS, server.info.uri)
      // A key pair takes WireGuard's tools, which not every machine has.
      .replace(/^PUBLIC_KEY=.*$/m, ''),
    { PUBLIC_KEY: publicKey },
  );
  const answers = printed
    .trim()
    .split(/(?<=\})\s*(?=\{)/)
    .map((text) => (JSON.parse(text) as { data: unknown }).data);
  const [configuration, device, rule, list] = answers as Record<string, unknown>[];
  t.is(configuration?.['default_client_mtu'], 1280);
  t.is(device?.['public_key'], publicKey);
  t.is(rule?.['destination'], '10.0.0.0/8');
  t.is((list as unknown as unknown[]).length, 1);
  t.is(answers.length, 4);
});

for (const document of ['README.md', 'lib/testing/README.md'])
  test(`the tests that ${document} shows pass as they are printed`, async (t) => {
    const examples = examplesOf(join(ROOT, document), 'ts');
    t.is(examples.length, 1);
    const folder = mkdtempSync(join(tmpdir(), 'postern-example-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(ROOT, join(folder, 'node_modules/postern'));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(folder, 'example.test.ts'), examples[0]!);
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--test', '--test-reporter=tap', 'example.test.ts'],
      { cwd: folder },
    );
    t.regex(stdout, /^# pass 1$/m);
    t.regex(stdout, /^# fail 0$/m);
  });
