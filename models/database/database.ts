// One open database: its connections, its tables, its keys and its bell. Other rooms hold it and
// pass it to the functions of this room; they never use `sequelize` themselves.

import type { Sequelize } from 'sequelize';
import type { Models } from '../tables/tables.ts';
import type { Keyring } from '../storage/encryption.ts';
import type { Origin } from '../storage/origin.ts';
import type { DatabaseLog } from '../storage/rerun.ts';
import type { DatabaseKind } from '../storage/time.ts';
import type { Revision } from '../storage/tracking.ts';
import { type LaterSchema, SchemaNewerError } from './later-schema.ts';
import { RoomWatch } from './room.ts';

/** Called after a commit of this process, with the revision that it made. */
export type CommitListener = (revision: Revision) => void;

/** What `connectDatabase` assembles. */
export interface DatabaseParts {
  kind: DatabaseKind;
  sequelize: Sequelize;
  models: Models;
  keyring: Keyring;
  log: DatabaseLog | null;
  origin: Origin;
  /** Collation of text columns; only MySQL's tables name one. */
  collation: () => string;
  /** Runs once the connections are closed. */
  discard: () => void;
  version: () => number | null;
}

/** An open database. */
export class Database {
  /** Which SQL it speaks; MariaDB is mysql. */
  readonly kind: DatabaseKind;
  /** The tables, bound to this database. */
  readonly models: Models;
  /** For this room alone: statements outside the tables' classes. */
  readonly sequelize: Sequelize;
  /** For this room alone: opens and seals the encrypted columns of raw rows. */
  readonly keyring: Keyring;
  /** The writer that the audit trail names if a transaction names no other. */
  readonly origin: Origin;
  /** Null when nobody listens. */
  readonly log: DatabaseLog | null;
  readonly #parts: DatabaseParts;
  readonly #listeners = new Set<CommitListener>();
  readonly #room = new RoomWatch(this);
  #lastStep: string | null = null;
  #later: LaterSchema | null = null;

  constructor(parts: DatabaseParts) {
    this.#parts = parts;
    this.kind = parts.kind;
    this.models = parts.models;
    this.sequelize = parts.sequelize;
    this.keyring = parts.keyring;
    this.log = parts.log;
    this.origin = parts.origin;
  }

  /** Collation for the text columns of tables that are made. */
  get collation(): string {
    return this.#parts.collation();
  }

  /**
   * A number that every commit of every process changes: a reader that finds the same number again
   * need not read. Reading the number costs some microseconds. Null on a server, which has none.
   */
  version(): number | null {
    return this.#parts.version();
  }

  /** Notes that a write found no room on the disk; `writeTransaction` calls it. */
  noteFull(): void {
    this.#room.noteFull();
  }

  /** Whether the disk refused a write, and has had no room since. */
  get isFull(): boolean {
    return this.#room.isFull;
  }

  /**
   * The last step that this version knows. Null before `migrate` has set it: then nobody looks for
   * later steps.
   */
  get lastStep(): string | null {
    return this.#lastStep;
  }

  /** Says which step is the last that this version knows; `migrate` calls it. */
  expectNoneBehind(lastStep: string): void {
    this.#lastStep = lastStep;
  }

  /** The later version that migrated the database, as the last read of the revision saw it. */
  get later(): LaterSchema | null {
    return this.#later;
  }

  /** Notes what a read of the revision saw; for this room alone. */
  noteLater(later: LaterSchema | null): void {
    if (later === null) return void (this.#later = null);
    // The clock of the process that migrated may be ahead: the migration was no later than the
    // moment at which it is seen first.
    const known = this.#later?.since ?? new Date();
    this.#later = { ...later, since: known < later.since ? known : later.since };
  }

  /** Throws SchemaNewerError where a later version is known to have migrated the database. */
  refuseLater(): void {
    if (this.#later !== null) throw new SchemaNewerError(this.#later.step);
  }

  /**
   * Ends the connections that nobody uses, so that the next connections go where the server's name
   * leads at that time: after a failover that is another server.
   */
  async reconnect(): Promise<void> {
    if (this.kind === 'sqlite') return;
    const { connectionManager } = this.sequelize as unknown as {
      connectionManager: { pool: { destroyAllNow(): Promise<unknown> } };
    };
    await connectionManager.pool.destroyAllNow();
  }

  /** Calls the listener after every commit of this process that changed something. */
  onCommit(listener: CommitListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells the listeners of a commit; `writeTransaction` calls it. Never throws. */
  ring(revision: Revision): void {
    for (const listener of this.#listeners) {
      try {
        listener(revision);
      } catch (error) {
        // The row is committed: a listener's error must not look like a failed write.
        this.log?.warn({ err: error, revision }, 'a listener failed after a commit');
      }
    }
  }

  /** Waits for running statements, ends the connections, deletes a database in memory. */
  async close(): Promise<void> {
    this.#listeners.clear();
    await this.#room.stop();
    await this.sequelize.close();
    this.#parts.discard();
  }
}
