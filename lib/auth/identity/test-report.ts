// What a test sign-in found, between the provider's answer and the page of the administrator who
// began it. It is kept, sealed, in the table of sign-ins that have not ended, because one gateway
// may get the answer and another one show the page. It is deleted after ten minutes.

import {
  type Database,
  findSignInRequest,
  noteAction,
  type ProviderKind,
  type SignInRequest,
  type TestReport,
} from '../../../models/index.ts';
import { shortened } from '../../kit/validation/texts.ts';
import type { Caller } from '../../kit/process/caller.ts';
import type { RunsWrites } from '../../kit/records/writes.ts';
import type { Finding } from './finding.ts';
import { keepRequest, newState } from './request.ts';

/** Most bytes of the claims, as JSON; the sealed report then fits the column. */
const CLAIMS_BYTES_MAX = 20_000;
const VALUES_MAX = 20;

type Claims = TestReport['claims'];

/** Makes a report; claims are cut to what a page can show. */
export function makeReport(findings: readonly Finding[], claims: Claims): TestReport {
  const kept: Claims[number][] = [];
  let bytes = 0;
  for (const one of claims) {
    const cut = { name: shortened(one.name), values: shortList(one.values) };
    bytes += Buffer.byteLength(JSON.stringify(cut));
    if (bytes > CLAIMS_BYTES_MAX) break;
    kept.push(cut);
  }
  return { findings, claims: kept, leftOut: claims.length - kept.length };
}

function shortList(values: readonly string[]): string[] {
  const shown = values.slice(0, VALUES_MAX).map(shortened);
  const left = values.length - shown.length;
  return left === 0 ? shown : [...shown, `… and ${left} more`];
}

/** Notes in the audit trail who begins a test of which entry. */
export async function noteTestBegun(
  { writes }: { readonly writes: RunsWrites },
  caller: Caller,
  { kind, id }: { readonly kind: ProviderKind; readonly id: string },
): Promise<void> {
  const changes = { kind: { to: kind } };
  const entry = { action: 'test sign-in', kind: 'identity_provider', recordId: id } as const;
  await writes.run(caller, {
    check: async () => null,
    write: async (transaction) => noteAction(transaction, { ...entry, changes }),
  });
}

/** The end of a test: with the ticket, the administrator who began it finds the report. */
export interface Tested {
  readonly kind: 'tested';
  readonly ticket: string;
}

/** Keeps a report for the administrator who began the test. */
export async function keepReport(
  database: Database,
  request: SignInRequest,
  report: TestReport,
): Promise<Tested> {
  const ticket = newState();
  const { testBy } = request.secrets;
  await keepRequest(database, {
    state: ticket,
    kind: request.kind,
    providerId: request.provider_id,
    browserSha256: request.browser_sha256,
    userId: null,
    source: { network: request.network_sha256, scope: request.scope_sha256 },
    secrets: { ...(testBy === undefined ? {} : { testBy }), report },
  });
  return { kind: 'tested', ticket };
}

/**
 * Finds the report of a ticket; null if there is none, if it has expired, or if it belongs to
 * another session or another entry.
 */
export async function findReport(
  database: Database,
  wanted: Pick<SignInRequest, 'kind' | 'provider_id'> & {
    readonly ticket: string;
    readonly sessionId: string;
  },
): Promise<TestReport | null> {
  const row = await findSignInRequest(database, wanted.ticket, new Date());
  if (row === null || row.kind !== wanted.kind || row.provider_id !== wanted.provider_id)
    return null;
  const { testBy, report } = row.secrets;
  return testBy === wanted.sessionId ? (report ?? null) : null;
}
