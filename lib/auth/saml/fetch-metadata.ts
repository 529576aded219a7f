// Fetches the metadata of a SAML provider from the address that an administrator gave, and checks
// whether they may replace the metadata in use. They are not verified by a signature but only by
// the https of their address, so no redirect to http is followed.

import { isLoopback } from '../../../config/index.ts';
import { DocumentError, type DocumentLimits, fetchDocument } from '../documents.ts';
import { ProviderRefusal } from '../identity/refusal.ts';
import { type SamlMetadata, SamlMetadataError } from '../saml-metadata.ts';
import { parseMetadata } from './provider-metadata.ts';

/** Why metadata were not taken: a word for counters. */
export type MetadataReason = 'unreachable' | 'unfit' | 'expired' | 'other_entity' | 'too_busy';

/** Metadata that were not taken; the message is for people and quotes nothing of theirs. */
export class MetadataFetchError extends Error {
  override name = 'MetadataFetchError';
  readonly reason: MetadataReason;

  constructor(reason: MetadataReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** What was fetched. */
export interface Fetched {
  readonly text: string;
  readonly metadata: SamlMetadata;
}

/** Whether metadata may be fetched from an address. */
export function isMetadataAddress({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/**
 * Fetches metadata; throws MetadataFetchError if they cannot be used, or are not the metadata of
 * the expected entity. If they describe several providers, the wanted one is used.
 */
export async function fetchMetadata(
  address: string,
  expected: string | null,
  limits?: DocumentLimits,
  now = new Date(),
  wanted?: string,
): Promise<Fetched> {
  const fetched = await fetchAndParse(address, limits, wanted);
  const { entityId, validUntil, entityIds = [] } = fetched.metadata;
  if (expected !== null && entityId !== expected)
    throw new MetadataFetchError(
      'other_entity',
      entityIds.includes(expected)
        ? `it describes several providers, of which ${expected} is not the first: name it in entity_id`
        : `it is about another provider: its entityID is not ${expected}`,
    );
  if (validUntil !== null && !(validUntil > now.getTime()))
    throw new MetadataFetchError('expired', 'its validUntil has passed, or is no time');
  return fetched;
}

async function fetchAndParse(
  address: string,
  limits: DocumentLimits | undefined,
  wanted: string | undefined,
): Promise<Fetched> {
  try {
    const text = await fetchDocument(address, WANTED, limits);
    return { text, metadata: await parseMetadata(text, wanted) };
  } catch (cause) {
    if (cause instanceof DocumentError)
      throw new MetadataFetchError('unreachable', cause.message, { cause });
    if (cause instanceof SamlMetadataError)
      throw new MetadataFetchError('unfit', cause.message, { cause });
    // The verifier's thread may fail in a way that nobody foresaw; other entries must not wait for
    // it.
    if (!(cause instanceof ProviderRefusal))
      throw new MetadataFetchError('unfit', 'it cannot be read', { cause });
    if (cause.reason === 'too_busy')
      throw new MetadataFetchError('too_busy', 'too many messages are verified at this moment');
    throw new MetadataFetchError('unfit', cause.detail ?? cause.reason, { cause });
  }
}

const WANTED = {
  accept: 'application/samlmetadata+xml, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.1',
  refuse: (to: URL, from: URL) => {
    const isSafe = isMetadataAddress(to) && (to.protocol === 'https:' || from.protocol === 'http:');
    return isSafe ? null : 'an address that is not https';
  },
};
