// Recall remembers what was read from the database while it is still true. Each request first asks
// the database which rows changed since the last time, and forgets what came from those rows. It is
// one cheap statement, which requests that arrive together share; on SQLite it is asked only after
// a commit. So a token that any process revoked does not work at the next request, and yet a
// request need not read its token and the configuration again.

import { setImmediate as turnOver } from 'node:timers/promises';
import {
  currentRevision,
  type Database,
  NO_REVISION,
  readChanges,
  readOrCreateConfiguration,
  type Revision,
} from '../../../models/index.ts';
import {
  type EffectiveConfiguration,
  effectiveConfiguration,
  type FixedSettings,
} from './effective-configuration.ts';

/** The most values that are remembered; then all are forgotten and read again. */
const MEMORIES_MAX = 1_000;
/** As an id it means every row of a table; alone it means every row of all tables. */
const ANY = '*';

/** A row that a value depends on; without an id, every row of the table. */
export interface Source {
  readonly table:
    | 'users'
    | 'devices'
    | 'rules'
    | 'group_memberships'
    | 'policy_tests'
    | 'configurations'
    | 'api_tokens';
  readonly id?: string;
}

/** A value to remember, and the rows that it came from. */
export interface Memory<T> {
  readonly value: T;
  readonly sources: readonly Source[];
  /** How long it may be remembered, if it also depends on something that leaves no change row. */
  readonly keepMs?: number;
}

/** A value that is remembered. */
interface Kept {
  readonly value: unknown;
  readonly sources: readonly string[];
  readonly untilMs: number;
}

/** A value that is being read, and the rows that changed since its reading began. */
interface Reading {
  readonly value: Promise<unknown>;
  readonly changed: Set<string>;
}

/** Remembers rows for one server. */
export class Recall {
  readonly #database: Database;
  readonly #fixed: FixedSettings;
  readonly #kept = new Map<string, Kept>();
  readonly #underWay = new Set<Reading>();
  /** The latest reading of each key. */
  readonly #latest = new Map<string, Reading>();
  #revision: Revision = NO_REVISION;
  /** The version of a SQLite file at which the revision was read; null: it is to be read. */
  #version: number | null = null;
  /** The question under way, and the one that is asked after it. */
  #asking: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;

  constructor(database: Database, fixed: FixedSettings = {}) {
    this.#database = database;
    this.#fixed = fixed;
  }

  /**
   * Forgets what changed. Each request calls it. It may share a question to the database only if
   * that is asked after the request arrived.
   */
  refresh(): Promise<void> {
    this.#next ??= this.#askNext();
    return this.#next;
  }

  /**
   * The value of a key at the last refresh or later. `load` reads it if it is not remembered; null
   * (it does not exist) is never remembered.
   */
  async read<T>(key: string, load: () => Promise<Memory<T> | null>): Promise<T | null> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && performance.now() < kept.untilMs) return kept.value as T;
    const latest = this.#latest.get(key);
    // Another request may be reading this value; it is shared unless something changed since.
    if (latest?.changed.size === 0) return latest.value as Promise<T | null>;
    const changed = new Set<string>();
    const reading = { value: this.#load(key, load, changed), changed };
    this.#underWay.add(reading);
    this.#latest.set(key, reading);
    try {
      return await reading.value;
    } finally {
      this.#underWay.delete(reading);
      if (this.#latest.get(key) === reading) this.#latest.delete(key);
    }
  }

  /** The configuration in force, with fixed settings, at the last refresh or later. */
  async configuration(): Promise<EffectiveConfiguration> {
    const found = await this.read('configuration', async () => {
      const row = await readOrCreateConfiguration(this.#database);
      const value = effectiveConfiguration(row, this.#fixed);
      return { value, sources: [{ table: 'configurations', id: value.id }] };
    });
    if (found === null) throw new Error('the configuration is missing');
    return found;
  }

  async #load<T>(
    key: string,
    load: () => Promise<Memory<T> | null>,
    changed: ReadonlySet<string>,
  ): Promise<T | null> {
    const memory = await load();
    if (memory === null) return null;
    const { value, keepMs = Number.POSITIVE_INFINITY } = memory;
    const sources = memory.sources.map(({ table, id = ANY }) => `${table}/${id}`);
    // If a row changed while the value was read, the value may be old and is not remembered.
    if (changed.has(ANY) || sources.some((source) => changed.has(source))) return value;
    if (keepMs === 0) return value;
    if (this.#kept.size >= MEMORIES_MAX) this.#kept.clear();
    this.#kept.set(key, { value, sources, untilMs: performance.now() + keepMs });
    return value;
  }

  async #askNext(): Promise<void> {
    // Requests that have arrived share the question, and their answers go out together.
    await turnOver();
    await this.#asking;
    this.#next = null;
    const asking = this.#catchUp();
    this.#asking = asking.catch(() => undefined);
    await asking;
  }

  async #catchUp(): Promise<void> {
    // Before the revision is read: a commit meanwhile makes another version, and it is read again.
    const version = this.#database.version();
    if (version !== null && version === this.#version) return;
    this.#version = null;
    await this.#readChanges();
    this.#version = version;
  }

  async #readChanges(): Promise<void> {
    if (this.#kept.size === 0 && this.#underWay.size === 0) {
      this.#revision = await currentRevision(this.#database);
      return;
    }
    const since = await readChanges(this.#database, this.#revision);
    if (since.full === true) {
      for (const { changed } of this.#underWay) changed.add(ANY);
      this.#kept.clear();
    } else if (since.changes.length > 0) {
      this.#forget(since.changes.flatMap(({ table, id }) => [`${table}/${id}`, `${table}/${ANY}`]));
    }
    this.#revision = since.revision;
  }

  #forget(rows: readonly string[]): void {
    for (const { changed } of this.#underWay) for (const row of rows) changed.add(row);
    const changed = new Set(rows);
    for (const [key, { sources }] of this.#kept)
      if (sources.some((source) => changed.has(source))) this.#kept.delete(key);
  }
}
