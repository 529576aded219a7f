// Whether the disk of a database has room. Once it has refused a write, a real write is tried every
// second until one succeeds: readiness then comes back as soon as somebody made room. This write is
// as large as an ordinary one, because a small write still fits where others are refused.

import { randomBytes } from 'node:crypto';
import { QueryTypes, type Sequelize } from 'sequelize';
import { type DatabaseLog, isConflict, isFull } from '../storage/rerun.ts';

const TRY_MS = 1_000;
/** With names of 32 and owners of 36 letters and their index, these are about 60 KB. */
const ROWS = 500;
/** Rows of a process that died are deleted by another one after so long. */
const LEFT_MS = 60_000;

/** What is watched; a part of `Database`, which has one of these. */
export interface Watched {
  readonly sequelize: Sequelize;
  readonly log: DatabaseLog | null;
}

/** Whether the disk of one database has room. */
export class RoomWatch {
  readonly #database: Watched;
  readonly #id = `room-${randomBytes(8).toString('hex')}-`;
  #timer: NodeJS.Timeout | null = null;
  #trying: Promise<void> | null = null;
  #isStopped = false;

  constructor(database: Watched) {
    this.#database = database;
  }

  /** Whether a write found no room, and none was tried since that did. */
  get isFull(): boolean {
    return this.#timer !== null || this.#trying !== null;
  }

  /** Notes that a write found no room, and tries one every second from now on. */
  noteFull(): void {
    if (this.isFull || this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#trying = this.#try().then((isFull) => {
        this.#trying = null;
        if (isFull) this.noteFull();
        else this.#database.log?.info({}, 'the disk of the database has room again');
      });
    }, TRY_MS);
    // It keeps no process alive.
    this.#timer.unref();
  }

  /** Tries nothing more, and waits for what is being tried. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#trying;
  }

  /** Whether there is still no room. Other errors of the write are reported elsewhere. */
  async #try(): Promise<boolean> {
    try {
      await tryRoom(this.#database, this.#id);
      return false;
    } catch (error) {
      return isFull(error) || isConflict(error);
    }
  }
}

/** Writes rows that nobody reads, and deletes them. */
async function tryRoom({ sequelize }: Watched, id: string): Promise<void> {
  const owner = id.padEnd(36, 'x');
  const expiresMs = Date.now() + LEFT_MS;
  const rows = Array.from(
    { length: ROWS },
    (_, i) => `('${id}${String(i).padStart(32 - id.length, '0')}', '${owner}', ${expiresMs})`,
  );
  const remove = `DELETE FROM leases WHERE name LIKE 'room-%' AND (name LIKE '${id}%' OR expires_ms < ${Date.now()})`;
  await sequelize.transaction(async (transaction) => {
    await sequelize.query(remove, { type: QueryTypes.DELETE, transaction });
    const sql = `INSERT INTO leases (name, owner, expires_ms) VALUES ${rows.join(', ')}`;
    await sequelize.query(sql, { type: QueryTypes.INSERT, transaction });
  });
  await sequelize.query(remove, { type: QueryTypes.DELETE });
}
