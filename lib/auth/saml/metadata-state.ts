// What is known of the metadata of an entry that has an address, as API, console and command line
// show it: when they were fetched, what is wrong, and which certificates serve.

import { createHash, X509Certificate } from 'node:crypto';
import { type Database, type MetadataEntry, readFetchedMetadata } from '../../../models/index.ts';
import { ProviderRefusal } from '../identity/refusal.ts';
import { metadataOf } from './provider-metadata.ts';

/** A certificate by which a provider may sign. */
export interface ShownCertificate {
  /** SHA-256 of it, hex. */
  readonly sha256: string;
  readonly validUntil: Date;
  /** `awaited`: new, and not yet seen in use; `former`: the document has it no more. */
  readonly state: 'in_use' | 'awaited' | 'former';
}

/** What is shown. */
export interface MetadataState {
  readonly id: string;
  readonly label: string;
  readonly url: string;
  /** Null where no metadata can be used. */
  readonly entityId: string | null;
  readonly fetchedAt: Date | null;
  readonly refreshAt: Date | null;
  readonly problem: string | null;
  readonly certificates: readonly ShownCertificate[];
}

/** An entry, as far as its metadata go. */
type Entry = MetadataEntry & { readonly label: string };

/** The state of every entry that has an address. */
export async function metadataStates(
  database: Database,
  entries: readonly Entry[],
): Promise<MetadataState[]> {
  const states = await Promise.all(entries.map((entry) => metadataState(database, entry)));
  return states.filter((state) => state !== null);
}

/** The state of one entry; null where it has no address. */
export async function metadataState(
  database: Database,
  entry: Entry,
): Promise<MetadataState | null> {
  const { id, label, metadata_url: url } = entry;
  if (url === undefined) return null;
  const row = await readFetchedMetadata(database, entry);
  const { former_certificates: former = [], awaited_certificates: awaited = [] } = row ?? {};
  const stateOf = (certificate: string): ShownCertificate['state'] =>
    former.includes(certificate) ? 'former' : awaited.includes(certificate) ? 'awaited' : 'in_use';
  const served = await metadataOf(database, entry).catch((error: unknown) => {
    if (error instanceof ProviderRefusal) return null;
    throw error;
  });
  return {
    id,
    label,
    url,
    entityId: served?.entityId ?? null,
    fetchedAt: row?.fetched_at ?? null,
    refreshAt: row?.refresh_at ?? null,
    problem: row?.problem ?? null,
    certificates: (served?.signingCertificates ?? []).map((certificate) => ({
      sha256: fingerprint(certificate),
      validUntil: new Date(new X509Certificate(Buffer.from(certificate, 'base64')).validTo),
      state: stateOf(certificate),
    })),
  };
}

/** The fingerprints of certificates, each once, in order. */
export function fingerprints(certificates: readonly string[]): string[] {
  return [...new Set(certificates.map(fingerprint))].toSorted();
}

function fingerprint(certificate: string): string {
  return createHash('sha256').update(Buffer.from(certificate, 'base64')).digest('hex');
}
