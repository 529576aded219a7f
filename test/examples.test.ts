// The examples of README.md, as they stand, against a server that listens: only the address and the
// token are this server's. The end-to-end tests run them against a whole gateway.

import { join } from 'node:path';
import test from 'ava';
import { examplesOf, runShell } from './support/examples.ts';
import { newKey, openServer } from './support/server.ts';

const ROOT = join(import.meta.dirname, '..');
const ADDRESS = 'http://127.0.0.1:13000';

test('the examples of README.md work as they stand', async (t) => {
  const { server, token } = await openServer(t, 'sqlite over a socket');
  const commands = examplesOf(join(ROOT, 'README.md')).join('\n');
  t.true(commands.includes('TOKEN=pst_...') && commands.includes(ADDRESS));
  const publicKey = newKey();
  const printed = await runShell(
    commands.replace('pst_...', token).replaceAll(ADDRESS, server.info.uri),
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
