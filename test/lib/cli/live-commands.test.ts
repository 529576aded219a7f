// Which commands ask the gateway that runs.

import test from 'ava';
import { openLocally } from '../../support/api/local-socket.ts';

test('commands that work on the database ask no gateway', async (t) => {
  const { run } = await openLocally(t);
  t.is(await run('user', 'list'), null);
});

test('a command that asks fails in words where the gateway cannot answer', async (t) => {
  const { run } = await openLocally(t);
  await t.throwsAsync(run('explain', 'laptop', '192.0.2.1') as Promise<unknown>, {
    message: /^there is no device laptop; DEVICE is .*; see: /,
  });
});
