// Transactions whose end fails: reported to the log, never printed, and the connection is not used again.

import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import test from 'ava';
import {
  type Database,
  readTransaction,
  type Transaction,
  writeTransaction,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addUser, deviceValues } from '../fixtures.ts';

interface Line {
  fields: object;
  text: string;
}

/** A log of warnings. */
function logOf(lines: Line[]) {
  return {
    info: () => undefined,
    warn: (fields: object, text: string) => void lines.push({ fields, text }),
  };
}

/** Runs work; returns what it printed past the log. */
async function printedBy(work: () => Promise<unknown>): Promise<string> {
  const real = process.stderr.write.bind(process.stderr);
  let printed = '';
  process.stderr.write = (text: string | Uint8Array) => {
    printed += text.toString();
    return true;
  };
  try {
    await work();
  } finally {
    process.stderr.write = real;
  }
  return printed;
}

test.serial(
  'sqlite: a commit that fails is logged, leaves nothing, frees the writer',
  async (t) => {
    const lines: Line[] = [];
    const database = await openDatabase(t, 'sqlite', { log: logOf(lines) });
    const user = await addUser(database);
    let rang = 0;
    database.onCommit(() => (rang += 1));
    const printed = await printedBy(async () => {
      const written = writeTransaction(database, async (transaction) => {
        // Foreign keys are then checked by COMMIT, which fails for it.
        await database.sequelize.query('PRAGMA defer_foreign_keys = ON', { transaction });
        await user.update({ role: 'admin' }, { transaction });
        await database.models.Device.create(deviceValues('nobody'), { transaction });
      });
      await t.throwsAsync(written, { name: 'SequelizeForeignKeyConstraintError' });
    });
    t.is(printed, '');
    t.is(rang, 0);
    t.deepEqual(lines, [
      { fields: { code: 'SQLITE_CONSTRAINT' }, text: 'a commit failed; its connection is ended' },
    ]);
    t.is((await user.reload()).role, 'unprivileged');
    await addUser(database);
  },
);

if (databaseKinds().includes('mariadb')) {
  /** Ends the connection of a transaction from the other side. */
  const kill = (database: Database, transaction: Transaction): Promise<unknown> =>
    database.sequelize.query('KILL CONNECTION_ID()', { transaction }).catch(() => undefined);

  test.serial('mariadb: a commit without a connection is logged, not printed', async (t) => {
    const lines: Line[] = [];
    const database = await openDatabase(t, 'mariadb', { log: logOf(lines) });
    const printed = await printedBy(async () => {
      const { sequelize } = database;
      await t.throwsAsync(sequelize.transaction((transaction) => kill(database, transaction)));
      // What was read is there, and nobody waits for the end.
      await readTransaction(database, (transaction) => kill(database, transaction));
      await setTimeout(200);
    });
    t.is(printed, '');
    const text = 'a commit failed; its connection is ended';
    t.deepEqual(
      lines.map((line) => line.text),
      [text, text],
    );
    t.is(await database.models.User.count(), 0);
  });

  test.serial('mariadb: a rollback without a connection is logged, its cause thrown', async (t) => {
    const lines: Line[] = [];
    const database = await openDatabase(t, 'mariadb', { log: logOf(lines) });
    const printed = await printedBy(async () => {
      const read = readTransaction(database, async (transaction) => {
        await kill(database, transaction);
        throw new TypeError('a mistake');
      });
      await t.throwsAsync(read, { instanceOf: TypeError });
    });
    t.is(printed, '');
    t.deepEqual(
      lines.map(({ text }) => text),
      ['a rollback failed; its connection is ended'],
    );
    await addUser(database);
  });
}
