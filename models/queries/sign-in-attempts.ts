// Reads how often somebody tried to sign in, for many at once. The values are beside the text of
// the statement: a list of users asks for a hundred.

import type { Database } from '../database/database.ts';
import { Binds } from '../storage/binds.ts';
import { plainSelect } from '../storage/select.ts';
import { parseSqlTime } from '../storage/time.ts';
import type { AttemptKind } from '../tables/sign-in-attempt.ts';

/** How many hashes one statement names. */
const HASHES_PER_STATEMENT = 500;

/** The attempts that are counted under one hash. */
interface AttemptCount {
  readonly sha256: string;
  readonly kind: AttemptKind;
  readonly count: number;
  readonly expires_at: Date;
}

/** Reads the counts that there are under these hashes. */
export async function readAttemptCounts(
  database: Database,
  hashes: readonly string[],
): Promise<AttemptCount[]> {
  const found: AttemptCount[] = [];
  for (let first = 0; first < hashes.length; first += HASHES_PER_STATEMENT) {
    const binds = new Binds();
    const list = binds.list(hashes.slice(first, first + HASHES_PER_STATEMENT));
    const rows = await database.sequelize.query<
      Omit<AttemptCount, 'expires_at'> & { expires_at: string | Date }
    >(`SELECT sha256, kind, count, expires_at FROM sign_in_attempts WHERE sha256 IN (${list})`, {
      ...plainSelect(),
      bind: binds.values,
    });
    for (const row of rows) found.push({ ...row, expires_at: parseSqlTime(row.expires_at) });
  }
  return found;
}
