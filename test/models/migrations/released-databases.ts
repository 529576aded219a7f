// The databases in released/: where they are, and how one is put into an empty place.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import mysql from 'mysql2/promise';
import type { TestDatabaseKind } from '../../support/database/databases.ts';

/** Where they are; their names begin with the number of the last step that ran. */
export const FOLDER = join(import.meta.dirname, 'released');
/** The encryption key of all of them. */
export const KEY = Buffer.alloc(32, 7);

/** The file of the database that the step of a number left. */
export function releasedFile(number: string, kind: TestDatabaseKind): string {
  return join(FOLDER, `${number}.${kind}.sql`);
}

/** Puts the database of a number into an empty one. */
export async function loadReleased(
  url: string,
  number: string,
  kind: TestDatabaseKind,
): Promise<void> {
  const sql = readFileSync(releasedFile(number, kind), 'utf8');
  if (kind === 'sqlite') loadFile(url, sql);
  else await loadServer(url, sql);
}

function loadFile(url: string, sql: string): void {
  const file = new DatabaseSync(url.slice('sqlite:'.length));
  file.exec(sql);
  file.close();
}

async function loadServer(url: string, sql: string): Promise<void> {
  const { hostname: host, port, username: user, pathname } = new URL(url);
  const connection = await mysql.createConnection({
    host,
    port: Number(port),
    user,
    database: pathname.slice(1),
    charset: 'utf8mb4',
    multipleStatements: true,
  });
  await connection.query(`SET foreign_key_checks = 0; ${sql}`);
  await connection.end();
}
