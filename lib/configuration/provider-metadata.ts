// Judges the metadata of a SAML entry before it is saved: those that were sent, and those at its
// address. What was left out is filled in, so that the entry can serve from the start and the
// provider need not be there ever again. An entry that was sent with metadata is saved though its
// address does not answer: they serve until it does.

import {
  type Database,
  readFetchedMetadata,
  type SamlIdentityProvider,
} from '../../models/index.ts';
import type { DocumentLimits } from '../auth/documents.ts';
import { fetchMetadata, MetadataFetchError } from '../auth/saml/fetch-metadata.ts';
import { metadataFaultOf, parseMetadata } from '../auth/saml/provider-metadata.ts';
import type { SamlValues } from './providers.ts';

/** What judging needs. */
export interface MetadataContext {
  readonly database: Database;
  readonly limits?: DocumentLimits | undefined;
}

/** What is wrong with metadata, and which field is to blame. */
export interface FieldFault {
  readonly field: 'metadata' | 'metadata_url';
  readonly fault: string;
}

/** Judges an entry that is new or changed; nothing is fetched after `untilMs` of this process. */
export async function judgeMetadata(
  entry: SamlValues,
  standing: SamlIdentityProvider | undefined,
  { database, limits, untilMs }: MetadataContext & { readonly untilMs: number },
): Promise<FieldFault | null> {
  const url = addressOf(entry, standing);
  if (standing !== undefined) await takeOver(entry, url, standing, database);
  if (entry.metadata !== '') {
    const fault = await metadataFaultOf(entry.metadata);
    if (fault !== null) return { field: 'metadata', fault };
  }
  const isAsBefore = url === standing?.metadata_url && entry.metadata === standing?.metadata;
  if (url === undefined || isAsBefore) return null;
  if (performance.now() >= untilMs) {
    const fault = 'no time was left to fetch it beside the others';
    return entry.metadata === '' ? { field: 'metadata_url', fault } : null;
  }
  try {
    const expected = entry.metadata === '' ? null : (await parseMetadata(entry.metadata)).entityId;
    const { text } = await fetchMetadata(url, expected, limits);
    if (entry.metadata === '') entry.metadata = text;
    return null;
  } catch (error) {
    if (!(error instanceof MetadataFetchError)) throw error;
    const isAway = error.fault === 'unreachable' || error.fault === 'too_busy';
    if (isAway && entry.metadata !== '') return null;
    return { field: 'metadata_url', fault: error.message };
  }
}

/** The address that an entry will have: one that is not sent stays, null takes it away. */
function addressOf(
  entry: SamlValues,
  standing: SamlIdentityProvider | undefined,
): string | undefined {
  const sent = entry.metadata_url as string | null | undefined;
  return sent === undefined ? standing?.metadata_url : (sent ?? undefined);
}

/** What an entry keeps of the one that it replaces. */
async function takeOver(
  entry: SamlValues,
  url: string | undefined,
  standing: SamlIdentityProvider,
  database: Database,
): Promise<void> {
  const { metadata } = entry;
  if (url !== undefined && url === standing.metadata_url && metadata === '')
    entry.metadata = standing.metadata;
  // Without its address an entry keeps what was fetched last.
  if (url === undefined && metadata === standing.metadata) {
    const row = await readFetchedMetadata(database, standing);
    entry.metadata = row?.document ?? metadata;
  }
}
