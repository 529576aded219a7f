// Statements of one transaction go to SQLite one after another, in the order of asking; to MySQL
// they go as mysql-query.ts says. Why: when a disk fails SQLite ends the transaction by itself; a
// statement that was sent after the failing one (`Promise.all`) would then run outside any
// transaction and could not be rolled back. Waiting here lets Sequelize see the end of the
// transaction first and refuse the rest.

import type { QueryOptions, Sequelize, Transaction } from 'sequelize';

/** What Sequelize puts on the options of COMMIT and ROLLBACK, and on those of any statement. */
interface StatementOptions extends QueryOptions {
  completesTransaction?: boolean;
}

/** Installs the order on every transaction of this Sequelize. */
export function orderStatements(sequelize: Sequelize): void {
  const lastOf = new WeakMap<Transaction, Promise<void>>();
  const finishOf = new WeakMap<object, () => void>();
  sequelize.addHook('beforeQuery', async (options: StatementOptions, query) => {
    // COMMIT and ROLLBACK do not queue: a rollback may be asked for by the failing statement.
    if (!options.transaction || options.completesTransaction === true) return;
    const transaction = outermost(options.transaction);
    const before = lastOf.get(transaction);
    const { promise, resolve } = Promise.withResolvers<void>();
    lastOf.set(transaction, promise);
    finishOf.set(query, resolve);
    await before;
  });
  sequelize.addHook('afterQuery', (_options, query) => {
    finishOf.get(query)?.();
  });
}

/** The transaction itself, or the one that a savepoint is in. */
export function outermost(transaction: Transaction): Transaction {
  const { parent } = transaction as Transaction & { parent?: Transaction };
  return parent === undefined ? transaction : outermost(parent);
}
