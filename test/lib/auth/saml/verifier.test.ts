// The thread that verifies: it gives the verdicts of the verifications themselves, and whatever it
// is given, the main thread stays free and the next task is served.

import test from 'ava';
import { ProviderRefusal } from '../../../../lib/auth/identity/refusal.ts';
import { parseSamlMetadata, SamlMetadataError } from '../../../../lib/auth/saml-metadata.ts';
import { Verifier } from '../../../../lib/auth/saml/verifier.ts';
import {
  ENTITY_ID,
  idpMetadata,
  otherIdpKey,
  OUR_ENTITY_ID,
} from '../../../support/auth/bad-saml-provider.ts';
import { signOnService } from '../../../support/auth/identity-provider.ts';
import { samlEntry } from '../../../support/auth/provider-entries.ts';

const METADATA = idpMetadata(signOnService());
const LIMITS = { taskMs: 20_000, startMs: 60_000, waitingMax: 2 };

test('a verdict crosses the threads: what was read, what was refused, and why', async (t) => {
  const verifier = new Verifier(LIMITS);
  t.teardown(() => verifier.stop());
  const metadata = parseSamlMetadata(METADATA);
  t.deepEqual(await verifier.verify('metadata', METADATA), metadata);
  await t.throwsAsync(verifier.verify('metadata', '<x/>'), {
    instanceOf: SamlMetadataError,
    message: /does not describe/,
  });
  const setup = {
    provider: samlEntry({ metadata: METADATA }),
    metadata,
    ours: { entityId: OUR_ENTITY_ID, key: otherIdpKey },
    requestId: '_r',
  };
  await t.throwsAsync(verifier.verify('response', setup, '!', new Date()), {
    instanceOf: ProviderRefusal,
    message: 'answer_invalid: not base64',
  });
});

test('a task beyond its deadline ends, with its thread, and the next one is served', async (t) => {
  const verifier = new Verifier({ ...LIMITS, taskMs: 0 });
  t.teardown(() => verifier.stop());
  // Some 100 ms of work, which cannot be done at once.
  const long = METADATA.replace('</IDPSSO', `${'<x/>'.repeat(9_000)}</IDPSSO`);
  await t.throwsAsync(verifier.verify('metadata', long), {
    message: 'answer_invalid: it took too long to verify',
  });
  const patient = new Verifier(LIMITS);
  t.teardown(() => patient.stop());
  const both = [patient.verify('metadata', long), patient.verify('metadata', METADATA)];
  t.is((await Promise.all(both)).length, 2);
});

test('a thread that ends refuses its task; what waited gets another thread', async (t) => {
  const verifier = new Verifier(LIMITS);
  t.teardown(() => verifier.stop());
  await verifier.verify('metadata', METADATA);
  const refused = t.throwsAsync(verifier.verify('metadata', METADATA), { message: /was stopped/ });
  const waiting = verifier.verify('metadata', METADATA);
  await verifier.stop();
  await refused;
  t.is((await waiting).entityId, ENTITY_ID);
});

test('only so many wait', async (t) => {
  const verifier = new Verifier(LIMITS);
  t.teardown(() => verifier.stop());
  const asked = Array.from({ length: 4 }, () => verifier.verify('metadata', METADATA));
  const came = await Promise.allSettled(asked);
  t.is(came.filter(({ status }) => status === 'fulfilled').length, 2);
  const [refused] = came.filter((one) => one.status === 'rejected');
  t.is(String(refused?.reason), 'ProviderRefusal: too_busy');
});
