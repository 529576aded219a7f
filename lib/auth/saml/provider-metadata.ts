// What is known of a SAML provider, by its entry: the metadata that were fetched last from the
// entry's address, else those of the entry itself. They are parsed once in the verifier's thread
// and remembered.

import {
  type Database,
  type MetadataEntry,
  readFetchedMetadata,
  type Transaction,
} from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import { ProviderRefusal } from '../identity/refusal.ts';
import { type SamlMetadata, SamlMetadataError } from '../saml-metadata.ts';
import { verifier } from './verifier.ts';

/** Texts that are remembered; the one that was used least recently makes room. */
const REMEMBERED_MAX = 16;

const remembered = new Map<string, Promise<SamlMetadata>>();

/** Metadata as they serve: former certificates are among those that sign. */
export interface ServedMetadata extends SamlMetadata {
  /** New certificates: the first answer signed by one of them ends the former ones. */
  readonly awaitedCertificates: readonly string[];
}

/** Reads an entry's metadata; throws ProviderRefusal where there are none that can be used. */
export async function metadataOf(
  database: Database,
  entry: MetadataEntry,
  transaction?: Transaction,
): Promise<ServedMetadata> {
  const row = await readFetchedMetadata(database, entry, transaction);
  const text = row?.document ?? entry.metadata;
  if (text === '') {
    const why = row?.problem ?? 'not asked for yet';
    throw new ProviderRefusal('provider_misconfigured', `no metadata were fetched: ${why}`);
  }
  const { former_certificates: former = [], awaited_certificates: awaited = [] } = row ?? {};
  try {
    const metadata = await parseMetadata(text, entry.entity_id);
    return {
      ...metadata,
      signingCertificates: [...metadata.signingCertificates, ...former],
      awaitedCertificates: awaited,
    };
  } catch (cause) {
    if (!(cause instanceof SamlMetadataError)) throw cause;
    throw new ProviderRefusal('provider_misconfigured', cause.message, { cause });
  }
}

/** Says what is wrong with metadata; null when nothing is. */
export async function metadataErrorOf(text: string, wanted?: string): Promise<string | null> {
  try {
    await parseMetadata(text, wanted);
    return null;
  } catch (error) {
    if (error instanceof SamlMetadataError) return error.message;
    if (!(error instanceof ProviderRefusal)) throw error;
    if (error.reason === 'too_busy') throw new ApiError('service_unavailable', { cause: error });
    return error.detail;
  }
}

/**
 * Reads metadata in the verifier's thread, of the provider that is wanted, else of the first;
 * rejects as it does.
 */
export function parseMetadata(text: string, wanted?: string): Promise<SamlMetadata> {
  const key = wanted === undefined ? text : `${wanted}\n${text}`;
  const parsing = remembered.get(key) ?? verifier.verify('metadata', text, wanted);
  remembered.delete(key);
  remembered.set(key, parsing);
  // What failed is tried again: the thread may have been busy.
  parsing.catch(() => remembered.delete(key));
  const [oldest] = remembered.keys();
  if (remembered.size > REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest);
  return parsing;
}

/** The identity providers that metadata describe; none where they cannot be read. */
export async function readEntityIds(text: string): Promise<readonly string[]> {
  try {
    return await verifier.verify('entityIds', text);
  } catch (error) {
    if (!(error instanceof ProviderRefusal)) throw error;
    if (error.reason === 'too_busy') throw new ApiError('service_unavailable', { cause: error });
    return [];
  }
}
