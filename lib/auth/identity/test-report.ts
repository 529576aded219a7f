// What a test sign-in found, on its way from the answer to the page of the administrator who began
// it. It waits in the table of sign-ins under way, sealed, for ten minutes: any gateway may get the
// answer and any may show the page, and what a provider says of a person is kept no longer.

import {
  type Database,
  findSignInRequest,
  type SignInRequest,
  type TestReport,
} from '../../../models/index.ts';
import type { Finding } from './finding.ts';
import { keepRequest, newState } from './request.ts';

/** Bytes of what is told, as JSON: sealed, the whole fits the column with room to spare. */
const TOLD_BYTES_MAX = 20_000;
const VALUES_MAX = 20;
const VALUE_CHARACTERS_MAX = 200;

type Told = TestReport['told'];

/** Makes a report; what is told is cut to what a page can show. */
export function makeReport(findings: readonly Finding[], told: Told): TestReport {
  const kept: Told[number][] = [];
  let bytes = 0;
  for (const one of told) {
    const cut = { name: shortened(one.name), values: shortList(one.values) };
    bytes += Buffer.byteLength(JSON.stringify(cut));
    if (bytes > TOLD_BYTES_MAX) break;
    kept.push(cut);
  }
  return { findings, told: kept, leftOut: told.length - kept.length };
}

function shortList(values: readonly string[]): string[] {
  const shown = values.slice(0, VALUES_MAX).map(shortened);
  const left = values.length - shown.length;
  return left === 0 ? shown : [...shown, `… and ${left} more`];
}

function shortened(text: string): string {
  return text.length > VALUE_CHARACTERS_MAX ? `${text.slice(0, VALUE_CHARACTERS_MAX)}…` : text;
}

/** What a test came to: the ticket shows its report to the administrator who began it. */
export interface Tested {
  readonly kind: 'tested';
  readonly ticket: string;
}

/** Keeps a report for whoever began the test. */
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

/** Finds a report for a session; null where it is another's, another entry's, late, or none. */
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
