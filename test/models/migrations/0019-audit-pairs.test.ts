// The indexes for pairs are there after the step, and a step that was killed runs again.

import test from 'ava';
import { migrate } from '../../../models/index.ts';
import { up } from '../../../models/migrations/0019-audit-pairs.ts';
import { plainSelect } from '../../../models/storage/select.ts';
import { databaseKinds, makePlace, openAt } from '../../support/database/databases.ts';
import { KEY, loadReleased } from './released-databases.ts';

for (const kind of databaseKinds())
  test(`${kind}: each pair has its index, whatever ran before`, async (t) => {
    const place = { ...(await makePlace(t, kind)), encryptionKey: KEY };
    await loadReleased(place.url, '0018', kind);
    const database = await openAt(t, place);
    const drop = kind === 'sqlite' ? '' : ' ON audit_entries';
    await migrate(database);
    // As a process leaves it that was killed in the middle.
    for (const name of ['email_lower_action', 'actor_action'])
      await database.sequelize.query(`DROP INDEX audit_entries_${name}_id${drop}`);
    await up(database);
    await up(database);
    const sql =
      kind === 'sqlite'
        ? "SELECT name FROM pragma_index_list('audit_entries')"
        : `SELECT DISTINCT INDEX_NAME AS name FROM information_schema.STATISTICS
           WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'audit_entries'`;
    const rows = await database.sequelize.query<{ name: string }>(sql, plainSelect());
    const names = rows.map(({ name }) => name);
    for (const pair of ['email_lower_kind', 'email_lower_action', 'actor_kind', 'actor_action'])
      t.true(names.includes(`audit_entries_${pair}_id`), pair);
  });
