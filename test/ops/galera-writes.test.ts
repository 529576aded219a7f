// Three servers that write at once, each at its own node of a Galera cluster: what was answered
// exists once, with its change row and its audit entry. A node may end transactions at any time;
// some minutes of this found devices that were answered and did not exist.

import test from 'ava';
import { connectDatabase, type Database, migrate } from '../../models/index.ts';
import { startGalera, stopGalera } from '../support/database/galera.ts';
import { runOnServer } from '../support/database/mariadb.ts';
import type { Answer } from '../support/api/requests.ts';
import { newKey, serverOn } from '../support/api/server.ts';

const ROUNDS = 4;
const OWNERS = 10;
const DEVICES_EACH = 9;
/** Programs that write at once at each node. */
const WRITERS = 3;

/** Counts what all nodes have answered: the node first applies what the others have committed. */
async function count(database: Database, sql: string): Promise<number> {
  const [rows] = await database.sequelize.query(
    `SET STATEMENT wsrep_sync_wait = 1 FOR SELECT COUNT(*) AS n FROM ${sql}`,
  );
  return (rows[0] as { n: number }).n;
}

test.serial('what is answered at three nodes at once exists completely', async (t) => {
  t.timeout(300_000);
  const nodes = await startGalera();
  const databases: Database[] = [];
  try {
    await runOnServer(nodes[0]!.url, 'CREATE DATABASE several');
    for (const { url } of nodes) {
      const database = await connectDatabase({
        url: `${url}several`,
        encryptionKey: Buffer.alloc(32),
      });
      databases.push(database);
      await migrate(database);
    }
    const servers = [];
    for (const database of databases) servers.push(await serverOn(database));
    const answers: Answer[] = [];
    for (let round = 0; round < ROUNDS; round += 1)
      await Promise.all(
        servers.map(async ({ send }, number) => {
          const wanted: string[] = [];
          for (let i = 0; i < OWNERS; i += 1) {
            const user = { email: `of-${round}-${number}-${i}@b.example` };
            const { body } = await send('POST', '/v0/users', { body: { user } });
            wanted.push(...Array.from({ length: DEVICES_EACH }, () => body.data.id));
          }
          const writer = async (): Promise<void> => {
            for (let owner = wanted.pop(); owner !== undefined; owner = wanted.pop()) {
              const device = { user_id: owner, public_key: newKey() };
              answers.push(await send('POST', '/v0/devices', { body: { device } }));
            }
          };
          await Promise.all(Array.from({ length: WRITERS }, writer));
        }),
      );
    const made = answers.filter(({ status }) => status === 201).map(({ body }) => body.data);
    t.true(made.length > 0.98 * answers.length, 'few conflicts are not solved by running again');
    t.is(new Set(made.map(({ ipv4 }) => ipv4)).size, made.length, 'each has an address of its own');
    const [database] = databases as [Database];
    t.is(await count(database, 'devices'), made.length);
    t.is(await count(database, "changes WHERE table_name = 'devices'"), made.length);
    t.is(await count(database, "audit_entries WHERE kind = 'device'"), made.length);
  } finally {
    for (const database of databases) await database.close();
    await stopGalera(nodes);
  }
});
