// The end of a transaction that fails: on a full disk, or when the server is gone. Sequelize prints
// it to the console, past the log and its form; here it is logged, and the connection, whose state
// nobody knows, is ended. Ending the connection rolls back everything that was not committed.

import type { Sequelize, Transaction } from 'sequelize';
import { type DatabaseLog, driverError } from './rerun.ts';

/** What is used of Sequelize: the statements by which it ends transactions. */
interface Ends {
  commitTransaction(transaction: Transaction, options: object): Promise<void>;
  rollbackTransaction(transaction: Transaction, options: object): Promise<void>;
}

/** Ends the connection; Sequelize's own name for it, missing in its types. */
type Ending = Transaction & { forceCleanup(): Promise<void> };

/** Lets the transactions of this Sequelize fail without a word on the console. */
export function endTransactionsQuietly(sequelize: Sequelize, log: DatabaseLog | null): void {
  const ends = sequelize.getQueryInterface() as unknown as Ends;
  const commit = ends.commitTransaction.bind(ends);
  const rollback = ends.rollbackTransaction.bind(ends);
  const end = async (transaction: Transaction, error: unknown, text: string): Promise<void> => {
    // Without a code only the kind of error: messages may quote values.
    const { code = error instanceof Error ? error.name : 'unknown' } = driverError(error);
    log?.warn({ code }, `${text}; its connection is ended`);
    await (transaction as Ending).forceCleanup();
  };
  Object.assign(ends, {
    async commitTransaction(transaction: Transaction, options: object): Promise<void> {
      try {
        await commit(transaction, options);
      } catch (error) {
        await end(transaction, error, 'a commit failed');
        // Thrown from here, it would be printed; a hook's error goes to the caller as it is.
        transaction.afterCommit(() => {
          throw error;
        });
      }
    },
    async rollbackTransaction(transaction: Transaction, options: object): Promise<void> {
      try {
        await rollback(transaction, options);
      } catch (error) {
        // With its connection the transaction is gone, which is all that was asked for.
        await end(transaction, error, 'a rollback failed');
      }
    },
  });
}
