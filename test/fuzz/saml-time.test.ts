// Time, not crashes: no message under the limits takes the main thread over 50 ms, from the form
// that was posted to the verdict. Counted is the processor's time of this thread, so that other
// work on the machine does not count.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { ProviderRefusal } from '../../lib/auth/identity/refusal.ts';
import { parseSamlMetadata } from '../../lib/auth/saml-metadata.ts';
import { Verifier } from '../../lib/auth/saml/verifier.ts';
import {
  base64,
  idpMetadata,
  otherIdpKey,
  OUR_ENTITY_ID,
} from '../support/auth/bad-saml-provider.ts';
import { signOnService } from '../support/auth/identity-provider.ts';
import { samlEntry } from '../support/auth/provider-entries.ts';
import { Chance, mutate } from './mutate.ts';
import { messageOf } from './targets/saml.ts';

const CPU_MS_MAX = 50;
const RUNS = 60;
const FOLDER = join(import.meta.dirname, 'corpus/saml');

test('no message under the limits takes the main thread over 50 ms', async (t) => {
  t.timeout(180_000);
  const verifier = new Verifier({ taskMs: 30_000, startMs: 60_000, waitingMax: 1 });
  t.teardown(() => verifier.stop());
  const metadata = idpMetadata(signOnService());
  const setup = {
    provider: samlEntry({ metadata }),
    metadata: parseSamlMetadata(metadata),
    ours: { entityId: OUR_ENTITY_ID, key: otherIdpKey },
    requestId: '_r',
  };
  const pool = readdirSync(FOLDER).map((file) => new Uint8Array(readFileSync(join(FOLDER, file))));
  const chance = new Chance(19);
  const inputs = [...pool, ...Array.from({ length: RUNS }, () => mutate(pool, chance))];
  // The first task starts the thread.
  await verifier.verify('metadata', metadata);
  let most = 0;
  let longest = 0;
  for (const name of ['postedLogout', 'response'] as const)
    for (const input of inputs) {
      const posted = base64(messageOf(input));
      const began = process.threadCpuUsage();
      const beganMs = performance.now();
      const error = await t.throwsAsync(verifier.verify(name, setup as never, posted, new Date()));
      t.true(error instanceof ProviderRefusal, String(error));
      const { user, system } = process.threadCpuUsage(began);
      most = Math.max(most, (user + system) / 1_000);
      longest = Math.max(longest, performance.now() - beganMs);
    }
  t.log(`main thread ${most.toFixed(1)} ms at most; a verdict ${Math.round(longest)} ms at most`);
  t.true(most < CPU_MS_MAX, `${Math.round(most)} ms`);
});
