// Rows that must exist once: insert if absent, then read back. Three gateways may start on one
// empty database together; whichever is first wins and the others read what it wrote.

import { type Transaction, UniqueConstraintError } from 'sequelize';
import type { Configuration } from '../tables/configuration.ts';
import type { Database } from './database.ts';
import { writeTransaction } from './transaction.ts';

/** How to read a row that is there once, and how to make it. */
export interface OnlyRow<Row> {
  /** Reads the committed row, outside any transaction. */
  read(): Promise<Row | null>;
  /** Inserts the row; a unique column must refuse a second one. */
  insert(transaction: Transaction): Promise<Row>;
}

/** Reads the row, or makes it; never makes a second one, whoever else is starting. */
export async function insertOrRead<Row>(database: Database, row: OnlyRow<Row>): Promise<Row> {
  const present = await row.read();
  if (present !== null) return present;
  try {
    const { result } = await writeTransaction(database, (transaction) => row.insert(transaction));
    return result;
  } catch (error) {
    if (!(error instanceof UniqueConstraintError)) throw error;
    const winner = await row.read();
    if (winner === null) throw error;
    return winner;
  }
}

/** Reads the one configuration, or makes it with the values of a fresh installation. */
export async function readOrCreateConfiguration(database: Database): Promise<Configuration> {
  const { Configuration: configurations } = database.models;
  return insertOrRead(database, {
    read: () => configurations.findOne(),
    // An earlier version left this out, and so does a backup of one.
    insert: (transaction) => configurations.create({ auto_sockets: true }, { transaction }),
  });
}
