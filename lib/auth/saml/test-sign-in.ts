// The end of a test sign-in through SAML: the answer is examined, signs nobody in and links nobody.
// Which parts the provider signs is kept for the entry; what the provider says about the person
// goes to a report for the administrator who began, if they still are one.

import { createHash } from 'node:crypto';
import {
  type Database,
  findSamlTest,
  keepSamlTest,
  type SamlIdentityProvider,
  type SamlTest,
  type SignInRequest,
  writeTransaction,
} from '../../../models/index.ts';
import { checkActors } from '../../kit/records/actors.ts';
import { keepReport, type Tested } from '../identity/test-report.ts';
import type { SamlMetadata } from '../saml-metadata.ts';
import { metadataOf } from './provider-metadata.ts';
import type { SamlSetup } from './service-provider.ts';
import { samlReport, signedBy } from './test-findings.ts';
import { verifier } from './verifier.ts';

/** Examines the answer to a test. */
export async function finishSamlTest(
  database: Database,
  setup: SamlSetup,
  request: SignInRequest,
  samlResponse: string,
): Promise<Tested> {
  const now = new Date();
  const examined = await verifier.verify('testResponse', setup, samlResponse, now);
  const signed = signedBy(examined.signed);
  const actor = { tokenId: null, sessionId: request.secrets.testBy ?? '', role: 'admin' } as const;
  await writeTransaction(database, async (transaction) => {
    const [refusal] = await checkActors(database, [actor], transaction);
    if (refusal) throw refusal;
    // Only an answer to this test shows which parts the provider signs.
    if (signed === null || examined.assertion === null) return;
    const found = {
      provider_id: setup.provider.id,
      metadata_sha256: hashOf(setup.metadata),
      signed,
      tested_at: now,
    };
    await keepSamlTest(database, found, transaction);
  });
  return keepReport(database, request, samlReport(examined, setup));
}

/** What the last test of an entry found; null where its metadata say something else since. */
export async function lastSamlTest(
  database: Database,
  provider: SamlIdentityProvider,
): Promise<SamlTest | null> {
  return findSamlTest(database, provider.id, hashOf(await metadataOf(database, provider)));
}

/**
 * A hash of the values that are read from metadata; the text itself may change each day, in nothing
 * but a date.
 */
function hashOf({ validUntil: _date, ...said }: SamlMetadata): string {
  return createHash('sha256').update(JSON.stringify(said)).digest('hex');
}
