// Users say how their e-mail looks, so that no new address can be taken for that of another user.
// Pairs of such addresses that are there stay.

import { DataTypes, QueryTypes } from 'sequelize';
import type { Database } from '../database/database.ts';
import { plainSelect } from '../storage/select.ts';
import { emailLook } from '../tables/user.ts';
import { addColumn, addIndex } from './schema.ts';

/** Users that one statement fills. */
const BATCH = 500;

/** Adds the column with its index, and fills it. */
export async function up(database: Database): Promise<void> {
  const type = DataTypes.CHAR(64);
  await addColumn(database, 'users', 'email_look', { type, allowNull: true });
  await addIndex(database, 'users', ['email_look']);
  await fill(database);
}

/** Fills in what is absent, without a change of the users themselves. */
async function fill({ sequelize }: Database): Promise<void> {
  let after = '';
  for (;;) {
    const rows: { id: string; email: string }[] = await sequelize.query(
      'SELECT id, email FROM users WHERE email_look IS NULL AND id > :after ORDER BY id LIMIT :batch',
      { ...plainSelect(), replacements: { after, batch: BATCH } },
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    const looks = rows.map(({ email }) => emailLook(email));
    await sequelize.query(
      `UPDATE users SET email_look = CASE id ${'WHEN ? THEN ? '.repeat(rows.length)} END
       WHERE id IN (?)`,
      {
        replacements: [...rows.flatMap(({ id }, at) => [id, looks[at]]), rows.map(({ id }) => id)],
        type: QueryTypes.UPDATE,
      },
    );
    after = last.id;
  }
}
