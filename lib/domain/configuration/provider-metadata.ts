// Checks the metadata of a SAML entry before it is saved: the metadata that were sent, and the
// metadata at its address. Metadata that were left out are filled in, so that people can sign in
// from the start, even if the address never answers again. An entry that was sent with metadata is
// saved even if its address does not answer: the metadata are used until it does.

import {
  type Database,
  readFetchedMetadata,
  type SamlIdentityProvider,
} from '../../../models/index.ts';
import type { DocumentLimits } from '../../auth/documents.ts';
import { fetchMetadata, MetadataFetchError } from '../../auth/saml/fetch-metadata.ts';
import {
  metadataErrorOf,
  parseMetadata,
  readEntityIds,
} from '../../auth/saml/provider-metadata.ts';
import { namedEntities } from '../../auth/saml-metadata.ts';
import { type FieldError, metadataError } from '../../kit/validation/messages.ts';
import type { SamlValues } from './providers.ts';

/** What checking needs. */
export interface MetadataContext {
  readonly database: Database;
  readonly limits?: DocumentLimits | undefined;
}

/** What is wrong with metadata, and which field is to blame. */
export interface MetadataError {
  readonly field: 'metadata' | 'metadata_url' | 'entity_id';
  readonly error: FieldError;
}

/** Checks an entry that is new or changed; nothing is fetched after `untilMs` of this process. */
export async function validateMetadata(
  entry: SamlValues,
  standing: SamlIdentityProvider | undefined,
  { database, limits, untilMs }: MetadataContext & { readonly untilMs: number },
): Promise<MetadataError | null> {
  const url = addressOf(entry, standing);
  const wanted = entityOf(entry, standing);
  if (standing !== undefined) await takeOver(entry, url, wanted, standing, database);
  const isAsBefore =
    url === standing?.metadata_url &&
    entry.metadata === standing?.metadata &&
    wanted === standing?.entity_id;
  if (entry.metadata !== '') {
    const entityError = isAsBefore ? null : await entityErrorOf(entry.metadata, wanted);
    if (entityError !== null) return { field: 'entity_id', error: entityError };
    const error = await metadataErrorOf(entry.metadata, wanted);
    if (error !== null) return { field: 'metadata', error: metadataError(error) };
  }
  if (url === undefined || isAsBefore) return null;
  if (performance.now() >= untilMs) {
    const error = metadataError('no time was left to fetch it beside the others');
    return entry.metadata === '' ? { field: 'metadata_url', error } : null;
  }
  try {
    const present = entry.metadata === '' ? null : await parseMetadata(entry.metadata, wanted);
    const expected = present?.entityId ?? null;
    const { text, metadata } = await fetchMetadata(url, expected, limits, new Date(), wanted);
    if (wanted === undefined && metadata.entityIds !== undefined)
      return { field: 'entity_id', error: mustName(metadata.entityIds) };
    if (entry.metadata === '') entry.metadata = text;
    return null;
  } catch (error) {
    if (!(error instanceof MetadataFetchError)) throw error;
    const isAway = error.reason === 'unreachable' || error.reason === 'too_busy';
    if (isAway && entry.metadata !== '') return null;
    return { field: 'metadata_url', error: metadataError(error.message) };
  }
}

/** What is wrong with the provider that an entry names, or does not name; null if nothing is. */
async function entityErrorOf(text: string, wanted: string | undefined): Promise<FieldError | null> {
  const ids = await readEntityIds(text);
  const isNamed = wanted === undefined ? ids.length <= 1 : ids.includes(wanted);
  // Where there is none, the metadata are to blame.
  return isNamed || ids.length === 0 ? null : mustName(ids);
}

function mustName(ids: readonly string[]): FieldError {
  return ids.length === 1
    ? { code: 'wrongEntity', values: { entity: ids.join() } }
    : {
        code: 'wrongEntityOfMany',
        values: { count: ids.length, entities: namedEntities(ids) },
      };
}

/** The provider that an entry will name: one that is not sent stays, null takes it away. */
export function entityOf(
  entry: SamlValues,
  standing: SamlIdentityProvider | undefined,
): string | undefined {
  const sent = entry.entity_id as string | null | undefined;
  return sent === undefined ? standing?.entity_id : (sent ?? undefined);
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
  wanted: string | undefined,
  standing: SamlIdentityProvider,
  database: Database,
): Promise<void> {
  const { metadata } = entry;
  if (url !== undefined && url === standing.metadata_url && metadata === '')
    entry.metadata = standing.metadata;
  // Without its address, or for another provider in it, an entry keeps what was fetched last.
  const isTurned = url === undefined || wanted !== standing.entity_id;
  if (isTurned && entry.metadata === standing.metadata) {
    const row = await readFetchedMetadata(database, standing);
    entry.metadata = row?.document ?? standing.metadata;
  }
}
