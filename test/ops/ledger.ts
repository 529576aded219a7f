// A write load on the API, and a list of what was answered. After a failure every answered write
// must exist, and each other one must exist completely or not at all. Each writer has records of
// its own, so the test knows exactly what a record must be.

import type { ExecutionContext } from 'ava';
import { connectDatabase } from '../../models/index.ts';
import { plainSelect } from '../../models/storage/select.ts';
import { Chance } from '../fuzz/mutate.ts';
import type { Answer, Data, Postern } from '../support/gateway/postern.ts';
import { makeKeyPair } from '../support/network/wireguard-client.ts';

type Kind = 'user' | 'device' | 'rule';

/** What is known of one record. */
interface Entry {
  readonly kind: Kind;
  readonly id: string;
  readonly ownerId: string | null;
  /** The field that identifies it, and its value. */
  readonly identity: string;
  /**
   * Possible values of `description` or `role`: more than one after an answer that did not come.
   */
  texts: Set<string>;
  /** True once a deletion was answered; null while one was requested and not answered. */
  isGone: boolean | null;
}

/** The result of the load. */
export interface LoadFigures {
  answered: number;
  unanswered: number;
  /** Answers of 503, which say that the database was away. */
  refused: number;
}

const USERS_PER_WRITER_MAX = 5;
const DEVICES_PER_USER_MAX = 4;
const RULES_PER_USER_MAX = 6;
const IDENTITY = { user: 'email', device: 'public_key', rule: 'destination' } as const;

/** The load and its ledger. */
export class Ledger {
  readonly figures: LoadFigures = { answered: 0, unanswered: 0, refused: 0 };
  /** The API that writers ask next. */
  postern: Postern;
  readonly #chance: Chance;
  readonly #entries = new Map<string, Entry>();
  /** Identities of records whose creation was requested and not answered. */
  readonly #perhaps = new Map<string, Kind>();
  /** Users who existed before. */
  readonly #others = new Set<string>();
  readonly #writers: readonly { readonly name: string; userIds: string[] }[];
  #count = 0;
  #isStopping = false;

  /** Its writers end with the test, so that none of them writes to the gateway of the next one. */
  constructor(t: ExecutionContext, postern: Postern, seed: number, writers = 4, prefix = 'w') {
    t.teardown(() => this.stop());
    this.postern = postern;
    this.#chance = new Chance(seed);
    this.#writers = Array.from({ length: writers }, (_, i) => ({
      name: `${prefix}${i}`,
      userIds: [],
    }));
  }

  /** Stores which users exist that are not those of the list. */
  async notice(): Promise<void> {
    for (const { id } of await this.#list('user')) this.#others.add(id);
  }

  /** Writes until `stop`; a server that is gone ends a writer, except with `persist`. */
  run(options: { persist?: boolean; pauseMs?: number } = {}): Promise<unknown> {
    this.#isStopping = false;
    const load = Promise.all(
      this.#writers.map(async (writer) => {
        while (!this.#isStopping) {
          const went = await this.#step(writer).catch((error: unknown) => {
            if (error instanceof Unanswered) return false;
            throw error;
          });
          if (!went && options.persist !== true) return;
          const pause = went ? (options.pauseMs ?? 0) : 200;
          if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
        }
      }),
    );
    // Whoever begins it waits for it later, and then the test fails, not the process.
    load.catch(() => undefined);
    return load;
  }

  stop(): void {
    this.#isStopping = true;
  }

  /** One write of one writer; throws `Unanswered` if no answer came, or one that refuses. */
  async #step(writer: { name: string; userIds: string[] }): Promise<boolean> {
    const what = this.#chance.below(100);
    const owner = this.#alive(writer.userIds[this.#chance.below(writer.userIds.length)]);
    if (owner === null || what < 10) {
      if (writer.userIds.length < USERS_PER_WRITER_MAX) {
        const email = `${writer.name}-${++this.#count}@example.test`;
        writer.userIds.push(await this.#create('user', null, { email }, email, ''));
        return true;
      }
      const [oldest = ''] = writer.userIds;
      writer.userIds = writer.userIds.slice(1);
      await this.#remove(this.#entries.get(oldest));
      return true;
    }
    const devices = this.#ownedBy(owner.id, 'device');
    const rules = this.#ownedBy(owner.id, 'rule');
    if (what < 35) {
      if (devices.length >= DEVICES_PER_USER_MAX) await this.#remove(devices[0]);
      const { publicKey } = makeKeyPair();
      const fields = { user_id: owner.id, public_key: publicKey, description: 'first' };
      await this.#create('device', owner.id, fields, publicKey, 'first');
    } else if (what < 60) {
      if (rules.length >= RULES_PER_USER_MAX) await this.#remove(rules[0]);
      const number = ++this.#count;
      const destination = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
      const fields = { user_id: owner.id, action: 'drop', destination };
      await this.#create('rule', owner.id, fields, destination, 'drop');
    } else if (what < 85 && devices.length > 0) {
      await this.#describe(devices[this.#chance.below(devices.length)]!);
    } else if (devices.length > 0) {
      await this.#remove(devices[this.#chance.below(devices.length)]);
    }
    return true;
  }

  #alive(id: string | undefined): Entry | null {
    const entry = this.#entries.get(id ?? '');
    return entry?.isGone === false ? entry : null;
  }

  #ownedBy(ownerId: string, kind: Kind): Entry[] {
    return [...this.#entries.values()].filter(
      (entry) => entry.kind === kind && entry.ownerId === ownerId && entry.isGone === false,
    );
  }

  async #create(
    kind: Kind,
    ownerId: string | null,
    fields: object,
    identity: string,
    text: string,
  ): Promise<string> {
    this.#perhaps.set(identity, kind);
    const answer = await this.#ask('POST', `/v0/${kind}s`, { [kind]: fields }, 201);
    this.#perhaps.delete(identity);
    const { id } = (answer.body as { data: Data }).data;
    const texts = new Set([text]);
    this.#entries.set(id, { kind, id, ownerId, identity, texts, isGone: false });
    return id;
  }

  async #describe(entry: Entry): Promise<void> {
    const description = `change ${++this.#count}`;
    const former = entry.texts;
    entry.texts = new Set([...former, description]);
    await this.#ask('PATCH', `/v0/devices/${entry.id}`, { device: { description } }, 200);
    entry.texts = new Set([description]);
  }

  async #remove(entry: Entry | undefined): Promise<void> {
    if (entry === undefined) return;
    const children = [...this.#entries.values()].filter(({ ownerId }) => ownerId === entry.id);
    const all = [entry, ...children.filter(({ isGone }) => isGone === false)];
    for (const one of all) one.isGone = null;
    await this.#ask('DELETE', `/v0/${entry.kind}s/${entry.id}`, undefined, 204);
    for (const one of all) one.isGone = true;
  }

  async #ask(method: string, path: string, body: unknown, wanted: number): Promise<Answer> {
    let answer: Answer;
    try {
      answer = await this.postern.call(method, path, body);
    } catch {
      this.figures.unanswered += 1;
      throw new Unanswered(`${method} ${path}`);
    }
    if (answer.status === 503) {
      this.figures.refused += 1;
      if (!answer.headers.has('retry-after')) throw new Error('a 503 without Retry-After');
      throw new Unanswered(`${method} ${path}: 503`);
    }
    if (answer.status !== wanted) {
      const logged = this.postern.output.slice(-5_000);
      const what = `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`;
      throw new Error(`${what}; the gateway said last:\n${logged}`);
    }
    this.figures.answered += 1;
    return answer;
  }

  async #list(kind: Kind): Promise<Data[]> {
    const answer = await this.postern.call('GET', `/v0/${kind}s`);
    if (answer.status !== 200) throw new Error(`GET ${kind}s: ${answer.status}`);
    return (answer.body as { data: Data[] }).data;
  }

  /** Compares what exists with the list, and makes the list certain again. */
  async verify(t: ExecutionContext): Promise<void> {
    const userIds = new Set((await this.#list('user')).map(({ id }) => id));
    for (const kind of ['user', 'device', 'rule'] as const) {
      const found = new Map((await this.#list(kind)).map((record) => [record.id, record]));
      for (const entry of this.#entries.values())
        if (entry.kind === kind) this.#compare(t, entry, found.get(entry.id));
      for (const record of found.values()) this.#checkUnknown(t, kind, record, userIds);
    }
    for (const [id, entry] of this.#entries) if (entry.isGone === true) this.#entries.delete(id);
    // Whether they exist was checked above; existing ones are left alone from here on.
    this.#perhaps.clear();
    for (const writer of this.#writers)
      writer.userIds = writer.userIds.filter((id) => this.#alive(id) !== null);
  }

  #compare(t: ExecutionContext, entry: Entry, record: Data | undefined): void {
    const what = `${entry.kind} ${entry.id} (${entry.identity})`;
    if (entry.isGone === true) return void t.is(record, undefined, `${what} was deleted`);
    if (entry.isGone === null) {
      entry.isGone = record === undefined;
      if (record === undefined) return;
    }
    if (record === undefined) return void t.fail(`${what} is lost`);
    t.is(record[IDENTITY[entry.kind]], entry.identity);
    if (entry.kind === 'user') return;
    const text = String(record[entry.kind === 'device' ? 'description' : 'action']);
    t.true(entry.texts.has(text), `${what} says ${text}, not ${[...entry.texts].join(' or ')}`);
    entry.texts = new Set([text]);
  }

  /** A record without an answer: it was requested, and must be complete. */
  #checkUnknown(t: ExecutionContext, kind: Kind, record: Data, userIds: Set<string>): void {
    const owner = (record['user_id'] ?? null) as string | null;
    if (owner !== null) t.true(userIds.has(owner), `${kind} ${record.id} has its user`);
    if (this.#entries.has(record.id) || this.#others.has(record.id)) return;
    const identity = String(record[IDENTITY[kind]]);
    if (owner !== null && this.#others.has(owner)) return;
    // Of another ledger on the same database.
    if (kind === 'user' && !this.#writers.some(({ name }) => identity.startsWith(`${name}-`))) {
      this.#others.add(record.id);
      return;
    }
    t.is(this.#perhaps.get(identity), kind, `${kind} ${identity} was asked for`);
    if (kind === 'device') t.is(record['description'], 'first');
    // From here on it belongs to somebody else.
    this.#others.add(record.id);
  }
}

class Unanswered extends Error {}

/** Checks a database that nobody uses: rows without owners, gaps, and what SQLite says. */
export async function inspectDatabase(
  t: ExecutionContext,
  place: { url: string; encryptionKey: Buffer },
): Promise<void> {
  const database = await connectDatabase(place);
  try {
    const count = async (sql: string): Promise<number> => {
      const [row] = await database.sequelize.query<{ n: number }>(sql, plainSelect());
      return Number(row?.n);
    };
    for (const table of ['devices', 'rules', 'api_tokens', 'identities', 'sessions'])
      t.is(
        await count(
          `SELECT COUNT(*) AS n FROM ${table}
           WHERE user_id IS NOT NULL AND user_id NOT IN (SELECT id FROM users)`,
        ),
        0,
        `${table} without their user`,
      );
    t.is(
      await count(`SELECT COUNT(*) AS n FROM device_statuses
        WHERE device_id NOT IN (SELECT id FROM devices)`),
      0,
      'statuses without their device',
    );
    // Each revision has its changes: a commit is whole.
    const [last, known, first] = await Promise.all([
      count('SELECT number AS n FROM revisions WHERE id = 1'),
      count('SELECT COUNT(DISTINCT revision) AS n FROM changes'),
      count('SELECT MIN(revision) AS n FROM changes'),
    ]);
    t.is(known, last - first + 1, 'revisions without a gap');
    // Every record has an entry in the audit trail, written in the same transaction.
    for (const table of ['users', 'devices', 'rules'])
      t.is(
        await count(`SELECT COUNT(*) AS n FROM ${table} WHERE id NOT IN
          (SELECT record_id FROM audit_entries WHERE action = 'create')`),
        0,
        `${table} whose making is not in the trail`,
      );
    if (database.kind === 'sqlite') {
      const [row] = await database.sequelize.query<{ integrity_check: string }>(
        'PRAGMA integrity_check',
        plainSelect(),
      );
      t.is(row?.integrity_check, 'ok');
    }
  } finally {
    await database.close();
  }
}
