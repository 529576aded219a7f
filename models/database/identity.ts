// Whether two processes have one and the same database open, however their settings name it. A copy
// is another database, even while it holds the same rows.

import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { plainSelect } from '../storage/select.ts';
import type { Database } from './database.ts';

/** What a server says of itself; not every server knows all of them. */
const OF_SERVER = ['hostname', 'port', 'datadir', 'server_uuid', 'server_uid'];

/** A text that is equal for two processes only where both have the same database open. */
export async function databaseIdentity(database: Database): Promise<string> {
  const parts = await (database.kind === 'sqlite' ? ofFile(database) : ofServer(database));
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

async function ofFile({ sequelize }: Database): Promise<unknown[]> {
  const [found] = await sequelize.query<{ file: string }>(
    `SELECT file FROM pragma_database_list WHERE name = 'main'`,
    plainSelect(),
  );
  const { dev, ino } = statSync(found?.file ?? '', { bigint: true });
  return [String(dev), String(ino)];
}

async function ofServer({ sequelize }: Database): Promise<unknown[]> {
  const names = OF_SERVER.map((name) => `'${name}'`).join(', ');
  const variables = await sequelize.query<{ Variable_name: string; Value: string }>(
    `SHOW VARIABLES WHERE Variable_name IN (${names})`,
    plainSelect(),
  );
  const [here] = await sequelize.query<{ name: string }>(
    'SELECT DATABASE() AS name',
    plainSelect(),
  );
  const said = variables.map(({ Variable_name: name, Value: value }) => `${name}=${value}`);
  return [here?.name, ...said.toSorted()];
}
