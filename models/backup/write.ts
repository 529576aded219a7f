// Makes a backup of a database that may be in use: what it holds at one moment, line by line.

import { createHash } from 'node:crypto';
import { executedMigrations } from '../migrations/index.ts';
import type { Database } from '../database/database.ts';
import { sealingKeysIn } from './catalogue.ts';
import { BackupError, FORMAT, type Header, sealPlace } from './format.ts';
import { withSnapshot } from './snapshot.ts';

/** What a backup came to. */
export interface BackedUp {
  readonly rows: number;
  /** By table. */
  readonly counts: Readonly<Record<string, number>>;
  /** Id of the encryption key that it is sealed with. */
  readonly key: string;
  /** Ids of all keys that restoring it needs: that one, then those of its values. */
  readonly keys: readonly string[];
  /** The last of the migrations that had run. */
  readonly schema: string;
}

/** Writes a backup through `out`, which may take its time. Secrets stay sealed as they are. */
export async function writeBackup(
  database: Database,
  out: (text: string) => Promise<void>,
): Promise<BackedUp> {
  const schema = await executedMigrations(database);
  const last = schema.at(-1);
  if (last === undefined) throw new BackupError('There is nothing to back up in this database');
  return withSnapshot(database, async (snapshot) => {
    const key = database.keyring.keyId;
    const header: Header = {
      postern_backup: FORMAT,
      made_at: new Date().toISOString(),
      schema,
      key,
      tables: snapshot.tables.map(({ name, columns, count }) => ({ name, columns, rows: count })),
    };
    const hash = createHash('sha256');
    const write = (lines: readonly unknown[]): Promise<void> => {
      const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
      hash.update(text);
      return out(text);
    };
    await write([header]);
    let rows = 0;
    const sealing = new Set<string>();
    for await (const page of snapshot.pages()) {
      rows += page.rows.length;
      for (const id of sealingKeysIn(page.table, page.rows)) sealing.add(id);
      await write(page.rows);
    }
    const sha256 = hash.digest('hex');
    const seal = database.keyring.seal(sha256, sealPlace(header));
    await out(`${JSON.stringify({ rows, sha256, seal })}\n`);
    const counts = Object.fromEntries(snapshot.tables.map(({ name, count }) => [name, count]));
    const keys = [...new Set([key, ...[...sealing].toSorted()])];
    return { rows, counts, key, keys, schema: last };
  });
}
