// Metadata of SAML providers that could not be fetched, or are not clear, in words for
// administrators: in the log, on the dashboard, for the doctor and in the test of a provider.

import { type Database, type MetadataEntry, readFetchedMetadata } from '../../../models/index.ts';
import type { Log } from '../../kit/process/log.ts';
import { ProviderRefusal } from '../identity/refusal.ts';
import { namedEntities, type SamlMetadata, SamlMetadataError } from '../saml-metadata.ts';
import { parseMetadata } from './provider-metadata.ts';

/** One finding about the metadata of an entry. */
export interface MetadataFinding {
  readonly text: string;
  readonly fix: string;
}

/** What is wrong with the metadata of the entries. */
export async function metadataFindings(
  database: Database,
  entries: readonly MetadataEntry[],
): Promise<MetadataFinding[]> {
  const problems = [];
  for (const entry of entries) {
    const row = await readFetchedMetadata(database, entry);
    const served = row?.document ?? entry.metadata;
    problems.push(...(await doubtsOf(entry, served)));
    if (row === null || row.problem === null) continue;
    const serves =
      served === ''
        ? 'Nobody can sign in through it until they can be fetched.'
        : 'The last good ones serve.';
    problems.push({
      text: `The metadata of the SAML provider ${entry.id} were not taken from ${entry.metadata_url}: ${row.problem}. ${serves}`,
      fix: 'They are fetched again within the hour. See to it that the gateway reaches the address; or change the entry under Settings, Identity providers.',
    });
  }
  return problems;
}

/** What is not clear in metadata that serve. */
export function metadataDoubts(
  { entityId, entityIds, unreadable = [] }: SamlMetadata,
  wanted: string | undefined,
): MetadataFinding[] {
  const isUnnamed = wanted === undefined && entityIds !== undefined;
  return [
    ...(isUnnamed
      ? [
          {
            text: `The metadata describe ${entityIds.length} identity providers, and the entry does not say which is meant; the first one, ${entityId}, serves: ${namedEntities(entityIds)}.`,
            fix: 'Name the one of your people in entity_id.',
          },
        ]
      : []),
    ...unreadable.map((which) => ({
      text: `In the metadata of ${entityId}, ${which} cannot be read and is left out; the others serve.`,
      fix: 'Ask the provider for metadata in which each certificate is whole.',
    })),
  ];
}

/** Logs what is not clear, once for each document; `known` remembers them by entry. */
export async function logMetadataDoubts(
  database: Database,
  log: Log,
  entries: readonly MetadataEntry[],
  known: Map<string, string>,
): Promise<void> {
  for (const entry of entries) {
    const row = await readFetchedMetadata(database, entry);
    const served = row?.document ?? entry.metadata;
    const state = JSON.stringify([entry.entity_id, served]);
    if (known.get(entry.id) === state) continue;
    known.set(entry.id, state);
    for (const { text, fix } of await doubtsOf(entry, served))
      log.warn({ provider: entry.id, fix }, text);
  }
  const ids = new Set(entries.map(({ id }) => id));
  for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
}

async function doubtsOf(
  { id, entity_id: wanted }: MetadataEntry,
  text: string,
): Promise<MetadataFinding[]> {
  if (text === '') return [];
  try {
    const doubts = metadataDoubts(await parseMetadata(text, wanted), wanted);
    return doubts.map((doubt) => ({ ...doubt, text: `SAML provider ${id}: ${doubt.text}` }));
  } catch (error) {
    // What cannot be read is said where it is asked for.
    if (error instanceof ProviderRefusal || error instanceof SamlMetadataError) return [];
    throw error;
  }
}
