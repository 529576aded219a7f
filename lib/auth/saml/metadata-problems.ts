// Metadata that could not be fetched, in words for administrators: on the dashboard and for the
// doctor. It reads one row for each entry with an address, and parses nothing.

import { type Database, type MetadataEntry, readFetchedMetadata } from '../../../models/index.ts';

/** One such thing. */
export interface MetadataProblem {
  readonly text: string;
  readonly fix: string;
}

/** What is wrong with the metadata of the entries that have an address. */
export async function metadataProblems(
  database: Database,
  entries: readonly MetadataEntry[],
): Promise<MetadataProblem[]> {
  const problems = [];
  for (const entry of entries) {
    const row = await readFetchedMetadata(database, entry);
    if (row === null || row.problem === null) continue;
    const isServing = (row.document ?? entry.metadata) !== '';
    const serves = isServing
      ? 'The last good ones serve.'
      : 'Nobody can sign in through it until they can be fetched.';
    problems.push({
      text: `The metadata of the SAML provider ${entry.id} were not taken from ${entry.metadata_url}: ${row.problem}. ${serves}`,
      fix: 'They are fetched again within the hour. See to it that the gateway reaches the address; or change the entry under Settings, Identity providers.',
    });
  }
  return problems;
}
