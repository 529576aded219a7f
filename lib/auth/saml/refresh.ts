// Keeps the metadata of SAML providers up to date. Metadata with an address are fetched once a day
// by one gateway, also when an answer is signed by an unknown key, and when an administrator asks.
// A document that cannot be used is refused, and the last good one stays in force. rollover.ts says
// how certificates change.

import {
  actAs,
  claimMetadata,
  type Database,
  type FetchedMetadata,
  forgetMetadata,
  GATEWAY,
  isToCome,
  isWithin,
  type MetadataChanges,
  type MetadataEntry,
  noteAction,
  readFetchedMetadata,
  settleMetadata,
  type Transaction,
  writeTransaction,
} from '../../../models/index.ts';
import type { Counters } from '../../kit/process/counters.ts';
import type { Log } from '../../kit/process/log.ts';
import type { DocumentLimits } from '../documents.ts';
import { type SamlMetadata, SamlMetadataError } from '../saml-metadata.ts';
import { type Fetched, fetchMetadata, MetadataFetchError } from './fetch-metadata.ts';
import { fingerprints } from './metadata-state.ts';
import { parseMetadata } from './provider-metadata.ts';
import { NO_ROLLOVER, rollOver } from './rollover.ts';

/** How often metadata are fetched, and how soon again after a failure. */
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** The part of it by which a turn may be earlier or later, so that not all come at once. */
const JITTER = 0.1;
/** The shortest time between two fetches, because strangers can post badly signed answers. */
const PAUSE_MS = 5 * 60_000;
/** Documents that are fetched at once. */
const AT_ONCE_MAX = 4;

/** What refreshing needs. */
export interface RefreshContext {
  readonly database: Database;
  readonly log?: Log;
  readonly counters?: Counters;
  readonly limits?: DocumentLimits | undefined;
  readonly now?: () => Date;
}

/** The outcome of a refresh. */
export type Refreshed =
  | { readonly kind: 'fetched'; readonly isChanged: boolean }
  | { readonly kind: 'refused'; readonly problem: string }
  /** The entry or its certificates were changed meanwhile, so the fetched document is dropped. */
  | { readonly kind: 'overtaken' };

/** Fetches the metadata of all entries whose turn has come. */
export async function refreshDueMetadata(
  context: RefreshContext,
  entries: readonly MetadataEntry[],
): Promise<void> {
  await forgetMetadata(context.database, entries);
  const waiting = entries.filter(({ metadata_url: url }) => url !== undefined);
  const lane = async (): Promise<void> => {
    for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift())
      await refresh(context, entry, (row, now) => isDue(row, now) && isRested(row, now));
  };
  await Promise.all(Array.from({ length: AT_ONCE_MAX }, lane));
}

/** Fetches because an answer was signed by an unknown key; true if there is a new document. */
export async function refreshForUnknownKey(
  context: RefreshContext,
  entry: MetadataEntry,
): Promise<boolean> {
  if (entry.metadata_url === undefined) return false;
  const refreshed = await refresh(context, entry, isRested);
  return refreshed?.kind === 'fetched' && refreshed.isChanged;
}

/** Fetches because an administrator asks; null if another gateway began at this moment. */
export function refreshOnDemand(
  context: RefreshContext,
  entry: MetadataEntry,
): Promise<Refreshed | null> {
  return refresh(context, entry, () => true);
}

function isRested({ asked_at: askedAt }: FetchedMetadata, now: Date): boolean {
  return askedAt === null || !isWithin(askedAt, PAUSE_MS, now);
}

function isDue({ refresh_at: turn }: FetchedMetadata, now: Date): boolean {
  return !isToCome(turn, DAY_MS * (1 + JITTER), now);
}

async function refresh(
  context: RefreshContext,
  entry: MetadataEntry,
  isWanted: (row: FetchedMetadata, now: Date) => boolean,
): Promise<Refreshed | null> {
  const { database, log, counters } = context;
  const now = context.now?.() ?? new Date();
  const row = await claimMetadata(database, entry, now, (found) => isWanted(found, now));
  if (row === null) return null;
  try {
    const present = row.document ?? entry.metadata;
    const before = await presentMetadata(present, entry.entity_id);
    const address = entry.metadata_url ?? '';
    const expected = before?.entityId ?? null;
    const fetched = await fetchMetadata(address, expected, context.limits, now, entry.entity_id);
    const isChanged = fetched.text !== present;
    const isSaved = await save(database, row, before, fetched, now);
    counters?.add('metadata_refreshes', isSaved ? (isChanged ? 'changed' : 'same') : 'overtaken');
    return isSaved ? { kind: 'fetched', isChanged } : { kind: 'overtaken' };
  } catch (error) {
    if (!(error instanceof MetadataFetchError)) throw error;
    const { reason, message: problem } = error;
    counters?.add('metadata_refreshes', reason);
    log?.warn(
      { provider: entry.id, reason, problem },
      'SAML metadata were not refreshed; the last good ones serve',
    );
    const changes = { problem, refresh_at: later(now, HOUR_MS) };
    await writeTransaction(database, (transaction) =>
      settleMetadata(database, row, changes, transaction),
    );
    return { kind: 'refused', problem };
  }
}

/** The metadata in force; null if they cannot be read: then any others may replace them. */
async function presentMetadata(text: string, wanted?: string): Promise<SamlMetadata | null> {
  try {
    return text === '' ? null : await parseMetadata(text, wanted);
  } catch (error) {
    if (error instanceof SamlMetadataError) return null;
    throw new MetadataFetchError('too_busy', 'the present metadata could not be read in time');
  }
}

async function save(
  database: Database,
  row: FetchedMetadata,
  before: SamlMetadata | null,
  { text, metadata }: Fetched,
  now: Date,
): Promise<boolean> {
  const present = before?.signingCertificates ?? [];
  const rollover = rollOver(present, rolloverOf(row), metadata.signingCertificates);
  const changes = {
    document: text,
    former_certificates: [...rollover.former],
    awaited_certificates: [...rollover.awaited],
    fetched_at: now,
    refresh_at: later(now, DAY_MS),
    problem: null,
  };
  const certificates = {
    from: fingerprints([...present, ...row.former_certificates]),
    to: fingerprints([...metadata.signingCertificates, ...rollover.former]),
  };
  const { result } = await writeTransaction(database, async (transaction) => {
    actAs(transaction, GATEWAY);
    const isSaved = await settleMetadata(database, row, changes, transaction);
    if (isSaved && certificates.from.join() !== certificates.to.join())
      note(transaction, row, certificates);
    return isSaved;
  });
  return result;
}

/** Ends a rollover: an answer was verified by a new certificate, so the former ones are dropped. */
export async function endRollover(
  { database }: RefreshContext,
  entry: MetadataEntry,
): Promise<void> {
  await writeTransaction(database, async (transaction) => {
    actAs(transaction, GATEWAY);
    await dropFormerCertificates(database, entry, transaction);
  });
}

/** Drops the former certificates of an entry; returns how many there were. */
export async function dropFormerCertificates(
  database: Database,
  entry: MetadataEntry,
  transaction: Transaction,
): Promise<number> {
  const row = await readFetchedMetadata(database, entry, transaction);
  if (row === null || row.former_certificates.length === 0) return 0;
  const former = row.former_certificates;
  const changes: MetadataChanges = {
    former_certificates: [...NO_ROLLOVER.former],
    awaited_certificates: [...NO_ROLLOVER.awaited],
  };
  await settleMetadata(database, row, changes, transaction);
  note(transaction, row, { from: fingerprints(former), to: [] });
  return former.length;
}

function rolloverOf({
  former_certificates: former,
  awaited_certificates: awaited,
}: FetchedMetadata) {
  return { former, awaited };
}

function note(
  transaction: Transaction,
  { provider_id: recordId }: FetchedMetadata,
  certificates: { from: string[]; to: string[] },
): void {
  const changes = { certificates };
  noteAction(transaction, { action: 'update', kind: 'saml_metadata', recordId, changes });
}

function later(now: Date, ms: number): Date {
  return new Date(now.getTime() + ms * (1 + JITTER * (2 * Math.random() - 1)));
}
