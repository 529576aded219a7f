// Keeps and finds the result of the last test sign-in of a SAML provider.

import { type Transaction } from 'sequelize';
import type { Database } from '../database/database.ts';
import type { SamlTest } from '../tables/saml-test.ts';

/** Keeps what a test found, in the place of what an earlier one did. */
export async function keepSamlTest(
  { models: { SamlTest: table } }: Database,
  test: Pick<SamlTest, 'provider_id' | 'metadata_sha256' | 'signed' | 'tested_at'>,
  transaction: Transaction,
): Promise<void> {
  await table.upsert({ ...test }, { transaction });
}

/** What the last test of an entry found; null where there was none with these metadata. */
export async function findSamlTest(
  { models: { SamlTest: table } }: Database,
  providerId: string,
  metadataSha256: string,
): Promise<SamlTest | null> {
  return table.findOne({ where: { provider_id: providerId, metadata_sha256: metadataSha256 } });
}
