// The clocks with which a gateway's own clock can be compared: the clock of the database server,
// and the last moment at which any gateway said that it lives.

import type { Database } from '../database/database.ts';
import { plainSelect } from '../storage/select.ts';

/** Clocks as the database knows them. */
export interface Clocks {
  /** The clock of the server; null with SQLite, which has none of its own. */
  readonly server: Date | null;
  /** When a gateway was seen last; null when none ever was. */
  readonly lastSeen: Date | null;
}

/** Reads both clocks; the schema must be up to date. */
export async function readClocks(database: Database): Promise<Clocks> {
  const lastSeen = (await database.models.Gateway.max('seen_at')) as Date | string | null;
  return {
    server: database.kind === 'mysql' ? await serverClock(database) : null,
    lastSeen: lastSeen === null ? null : new Date(lastSeen),
  };
}

async function serverClock(database: Database): Promise<Date> {
  const sent = Date.now();
  const rows = await database.sequelize.query<{ ms: string | number }>(
    "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1000 AS ms",
    plainSelect(),
  );
  // The server answered at some time in between; half of that time is subtracted.
  return new Date(Number(rows[0]?.ms) - (Date.now() - sent) / 2);
}
