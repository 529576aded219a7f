// The entries themselves: read by time and number, forgotten by age.

import test from 'ava';
import {
  actAs,
  type AuditSelection,
  type Database,
  GATEWAY,
  noteAction,
  pruneAuditEntries,
  readAuditEntries,
} from '../../../models/index.ts';
import { appendAuditEntries } from '../../../models/database/audit-trail.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser, write } from '../fixtures.ts';

const idAt = (ms: number): string => {
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
};

/** Entries of the given times; their record ids tell them apart. */
function append(database: Database, times: readonly number[]): Promise<void> {
  const drafts = times.map((ms) => ({
    id: idAt(ms),
    happenedAt: new Date(ms),
    origin: { actor: 'gateway' } as const,
    action: 'create' as const,
    kind: 'rule' as const,
    recordId: String(ms),
    changes: { destination: { to: "it's \\ :id $1 ?" } },
  }));
  return write(database, (transaction) => appendAuditEntries(database, drafts, transaction));
}

for (const kind of databaseKinds()) {
  test(`${kind}: the newest are read, the oldest of them first`, async (t) => {
    const database = await openDatabase(t, kind);
    const startMs = Date.UTC(2040, 0, 1);
    await append(database, [startMs, startMs + 1, startMs + 2]);
    const read = async (selection: { since?: Date; limit: number }): Promise<string[]> =>
      (await readAuditEntries(database, selection)).map(({ record_id }) => record_id);
    const [first, second, third] = [0, 1, 2].map((i) => String(startMs + i));
    t.deepEqual(await read({ limit: 2 }), [second, third]);
    const since = new Date(startMs);
    t.deepEqual(await read({ since, limit: 10 }), [first, second, third]);
    t.deepEqual(await read({ since: new Date(startMs + 1), limit: 10 }), [second, third]);
    t.deepEqual(await read({ since: new Date(startMs + 3), limit: 10 }), []);
    const [entry] = await readAuditEntries(database, { since, limit: 3 });
    t.deepEqual(entry?.happened_at, new Date(startMs));
    t.deepEqual(entry?.changes, { destination: { to: "it's \\ :id $1 ?" } });
  });

  test(`${kind}: an entry has the names of its time, also of what goes with it`, async (t) => {
    const database = await openDatabase(t, kind);
    const { ApiToken, Device, Group, GroupMembership, Rule, User } = database.models;
    const user = await addUser(database, { email: "ann's@b.test" });
    const { id: user_id } = user;
    const token = await write(database, (transaction) =>
      ApiToken.create({ user_id, name: 'ci?', sha256: 'a'.repeat(64) }, { transaction }),
    );
    const origin = {
      actor: 'user',
      userId: user_id,
      email: user.email,
      tokenId: token.id,
    } as const;
    const group = await write(database, async (transaction) => {
      actAs(transaction, origin);
      const made = await Group.create({ name: 'Staff \\ :id' }, { transaction });
      await GroupMembership.create({ group_id: made.id, user_id }, { transaction });
      const destination = '10.0.0.0/8';
      const ports = { port_type: 'tcp', port_start: 443, port_end: 443 } as const;
      const rule = { action: 'accept', destination, group_id: made.id, ...ports } as const;
      await Rule.create(rule, { transaction });
      await Rule.create({ destination, protocol: 'icmp' }, { transaction });
      return made;
    });
    const device = await addDevice(database, user, { name: 'laptop' });
    await write(database, async (transaction) => {
      noteAction(transaction, { action: 'begin capture', kind: 'device', recordId: device.id });
    });
    await write(database, async (transaction) => {
      await Rule.destroy({ where: { group_id: group.id }, transaction });
      await GroupMembership.destroy({ where: { group_id: group.id }, transaction });
      await group.destroy({ transaction });
      await Device.destroy({ where: { user_id }, transaction });
      await ApiToken.destroy({ where: { user_id }, transaction });
      await User.destroy({ where: { id: user_id }, transaction });
    });
    const entries = await readAuditEntries(database, { limit: 50 });
    const names = entries
      .slice(entries.findIndex(({ record_id }) => record_id === user_id))
      .map(({ action, kind: what, record_name, owner_name, token_name }) =>
        [action, what, record_name, owner_name, token_name].join('|'),
      );
    t.deepEqual(names, [
      "create|user|ann's@b.test||",
      "create|token|ci?|ann's@b.test|",
      'create|group|Staff \\ :id||ci?',
      "create|group_membership|ann's@b.test|Staff \\ :id|ci?",
      'create|rule|Accept TCP 443 to 10.0.0.0/8|Staff \\ :id|ci?',
      'create|rule|Drop ICMP to 10.0.0.0/8||ci?',
      "create|device|laptop|ann's@b.test|",
      'begin capture|device|laptop||',
      'delete|rule|Accept TCP 443 to 10.0.0.0/8|Staff \\ :id|',
      "delete|group_membership|ann's@b.test|Staff \\ :id|",
      'delete|group|Staff \\ :id||',
      "delete|device|laptop|ann's@b.test|",
      "delete|token|ci?|ann's@b.test|",
      "delete|user|ann's@b.test||",
    ]);
  });

  test(`${kind}: entries are filtered by who, what, which record and when`, async (t) => {
    const database = await openDatabase(t, kind);
    const drafts = [
      { email: 'Ann@b.test', action: 'create', kind: 'rule', recordId: 'r1' },
      { email: 'bob@b.test', action: 'update', kind: 'rule', recordId: 'r1' },
      { email: 'bob@b.test', action: 'create', kind: 'user', recordId: 'u1' },
      { email: undefined, action: 'delete', kind: 'user', recordId: 'u1' },
    ].map(({ email, recordId, kind: what, action }, i) => ({
      id: idAt(i + 1),
      happenedAt: new Date(i + 1),
      origin: email === undefined ? GATEWAY : ({ actor: 'user', email } as const),
      action: action as 'create',
      kind: what as 'rule' | 'user',
      recordId,
      changes: {},
    }));
    await write(database, (transaction) => appendAuditEntries(database, drafts, transaction));
    const times = async (selection: Partial<AuditSelection>): Promise<number[]> =>
      (await readAuditEntries(database, { limit: 9, until: new Date(99), ...selection })).map(
        ({ happened_at }) => happened_at.getTime(),
      );
    t.deepEqual(await times({}), [1, 2, 3, 4]);
    t.deepEqual(await times({ who: 'ANN@B.TEST' }), [1]);
    t.deepEqual(await times({ who: 'gateway' }), [4]);
    t.deepEqual(await times({ who: "' OR 1=1" }), []);
    t.deepEqual(await times({ action: 'create' }), [1, 3]);
    t.deepEqual(await times({ kind: 'rule' }), [1, 2]);
    t.deepEqual(await times({ recordId: 'u1', action: 'delete' }), [4]);
    t.deepEqual(await times({ until: new Date(3) }), [1, 2]);
    t.deepEqual(await times({ since: new Date(2), until: new Date(4) }), [2, 3]);
    t.deepEqual(await times({ beforeId: idAt(3), limit: 1 }), [2]);
  });

  test(`${kind}: entries from before a time are forgotten, thousands too`, async (t) => {
    const database = await openDatabase(t, kind);
    const before = new Date(Date.UTC(2020, 0, 1));
    const old = Array.from({ length: 2_300 }, (_, i) => before.getTime() - 1 - i);
    await append(database, [...old, before.getTime()]);
    const all = await database.models.AuditEntry.count();
    t.is(await pruneAuditEntries(database, before), 2_300);
    t.is(await database.models.AuditEntry.count(), all - 2_300);
    t.is(await pruneAuditEntries(database, before), 0);
    const [oldest] = await readAuditEntries(database, { limit: 10_000 });
    t.deepEqual(oldest?.happened_at, before);
  });

  test(`${kind}: entries go a hundred at a time, and others have a pause after each`, async (t) => {
    const database = await openDatabase(t, kind);
    const before = new Date(Date.UTC(2020, 0, 1));
    await append(
      database,
      Array.from({ length: 450 }, (_, i) => before.getTime() - 1 - i),
    );
    const counts: number[] = [];
    const pauses: number[] = [];
    let deletedAt: number | null = null;
    let isDelete = false;
    database.sequelize.addHook('beforeQuery', (options) => {
      const { type } = options as { type?: string };
      if (deletedAt !== null) pauses.push(performance.now() - deletedAt);
      deletedAt = null;
      isDelete = type === 'BULKDELETE';
    });
    database.sequelize.addHook('afterQuery', () => {
      if (isDelete) deletedAt = performance.now();
    });
    let left = await database.models.AuditEntry.count();
    const stopAfter = async (deletes: number): Promise<void> => {
      let turns = 0;
      await pruneAuditEntries(database, before, () => (turns += 1) > deletes);
      const now = await database.models.AuditEntry.count();
      counts.push(left - now);
      left = now;
    };
    for (const deletes of [1, 1, 9]) await stopAfter(deletes);
    t.deepEqual(counts, [100, 100, 250]);
    // The counts come behind a pause too; timers may be a millisecond early.
    t.is(pauses.length, 5);
    for (const pause of pauses) t.true(pause >= 4, `${pause} ms`);
  });
}
