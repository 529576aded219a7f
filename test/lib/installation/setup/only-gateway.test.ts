// One gateway for each DATA_DIR.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { lockDataDir } from '../../../../lib/installation/setup/only-gateway.ts';
import { temporaryFolder } from '../../../support/suite/temporary-folder.ts';

test('a second gateway is refused until the first one has ended', async (t) => {
  const dataDir = temporaryFolder('postern-lock-');
  const log = { warn: () => t.fail() };
  const first = await lockDataDir({ dataDir }, log);
  await t.throwsAsync(lockDataDir({ dataDir }, log), {
    message: `a gateway already runs on this DATA_DIR (${dataDir}/gateway.lock is locked); stop it, or give this one a DATA_DIR of its own`,
  });
  first?.release();
  (await lockDataDir({ dataDir }, log))?.release();
});

test('where no file can be locked, a gateway starts and says so', async (t) => {
  const dataDir = temporaryFolder('postern-lock-');
  mkdirSync(join(dataDir, 'gateway.lock'));
  const warnings: string[] = [];
  const log = { warn: (_: object, text: string) => void warnings.push(text) };
  t.is(await lockDataDir({ dataDir }, log), null);
  t.deepEqual(warnings, ['DATA_DIR could not be locked; no other gateway may run on it']);
});
