// The audit trail of a transaction: every kind of write leaves its entries, all or nothing with
// what they are about, in the name of whoever wrote.

import test from 'ava';
import {
  actAs,
  type AuditRow,
  COMMAND_LINE,
  type Database,
  GATEWAY,
  type Origin,
  readAuditEntries,
  removeUser,
  writeTransaction,
} from '../../../models/index.ts';
import { VALUE_CHARACTERS_MAX } from '../../../models/storage/audited-values.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
} from '../../support/database/databases.ts';
import { migrate } from '../../../models/index.ts';
import { addDevice, addRule, addToken, addUser, userValues, write } from '../fixtures.ts';

/** The entries since the last call, without those of the database's own making. */
function reader(database: Database): () => Promise<AuditRow[]> {
  let seen = 0;
  return async () => {
    const all = await readAuditEntries(database, { limit: 10_000 });
    const fresh = all.slice(seen);
    seen = all.length;
    return fresh;
  };
}

const shortly = ({ action, kind, record_id }: AuditRow): string => `${action} ${kind} ${record_id}`;

for (const kind of databaseKinds()) {
  test(`${kind}: a row that is made, changed and deleted leaves three entries`, async (t) => {
    const database = await openDatabase(t, kind);
    const read = reader(database);
    await read();
    const before = Date.now();
    const user = await addUser(database, { email: 'Ann@example.com' });
    await write(database, (transaction) => user.update({ role: 'admin' }, { transaction }));
    await write(database, (transaction) => user.destroy({ transaction }));
    const entries = await read();
    t.deepEqual(entries.map(shortly), [
      `create user ${user.id}`,
      `update user ${user.id}`,
      `delete user ${user.id}`,
    ]);
    t.deepEqual(
      entries.map(({ changes }) => changes),
      [
        { email: { to: 'Ann@example.com' }, role: { to: 'unprivileged' } },
        { role: { from: 'unprivileged', to: 'admin' } },
        { email: { from: 'Ann@example.com' }, role: { from: 'admin' } },
      ],
    );
    for (const { happened_at, actor } of entries) {
      t.true(happened_at.getTime() >= before && happened_at.getTime() <= Date.now());
      t.is(actor, 'gateway');
    }
  });

  test(`${kind}: bulk writes leave an entry for each row that changes`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User } = database.models;
    const read = reader(database);
    await read();
    const users = await write(database, (transaction) =>
      User.bulkCreate([userValues(), userValues(), userValues()], { transaction }),
    );
    t.deepEqual(
      (await read()).map(shortly),
      users.map(({ id }) => `create user ${id}`),
    );
    const [first, ...rest] = users.map(({ id }) => id);
    await write(database, (transaction) =>
      User.update({ role: 'admin' }, { where: { id: first }, transaction }),
    );
    await write(database, (transaction) =>
      User.update({ role: 'admin' }, { where: {}, transaction }),
    );
    t.deepEqual(
      (await read()).map(shortly).toSorted(),
      [first, ...rest].map((id) => `update user ${id}`).toSorted(),
    );
    await write(database, (transaction) => User.destroy({ where: { id: rest }, transaction }));
    await write(database, (transaction) => User.destroy({ where: { id: rest }, transaction }));
    t.deepEqual(
      (await read()).map(shortly).toSorted(),
      rest.map((id) => `delete user ${id}`).sort(),
    );
  });

  test(`${kind}: a user who goes takes devices, rules and tokens along, each recorded`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const device = await addDevice(database, user);
    const rule = await addRule(database, { destination: '10.0.0.1', user_id: user.id });
    const token = await addToken(database, user);
    const read = reader(database);
    await read();
    await write(database, (transaction) => removeUser(database, user.id, transaction));
    const entries = await read();
    t.deepEqual(entries.map(shortly), [
      `delete device ${device.id}`,
      `delete rule ${rule.id}`,
      `delete token ${token.id}`,
      `delete user ${user.id}`,
    ]);
    t.like(entries[0]?.changes, { name: { from: device.name }, preshared_key: { changed: true } });
  });

  test(`${kind}: what is rolled back, and what changes nothing, leaves no entry`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const read = reader(database);
    await read();
    await t.throwsAsync(
      writeTransaction(database, async (transaction) => {
        await user.update({ role: 'admin' }, { transaction });
        throw new Error('no');
      }),
    );
    await user.reload();
    await write(database, (transaction) =>
      user.update({ role: 'unprivileged', email: user.email }, { transaction }),
    );
    t.deepEqual(await read(), []);
  });

  test(`${kind}: each writer of a transaction is named, and no other`, async (t) => {
    const place = await makePlace(t, kind);
    const database = await openAt(t, place, { origin: COMMAND_LINE });
    await migrate(database);
    const read = reader(database);
    await read();
    const origin: Origin = {
      actor: 'user',
      userId: '00000000-0000-7000-8000-000000000001',
      email: 'é@example.com',
      tokenId: '00000000-0000-7000-8000-000000000002',
      requestId: 'r1',
      address: '2001:db8::1',
    };
    const { User } = database.models;
    await write(database, async (transaction) => {
      await User.create(userValues(), { transaction });
      actAs(transaction, origin);
      await User.create(userValues(), { transaction });
      actAs(transaction, GATEWAY);
      await User.create(userValues(), { transaction });
    });
    const [first, second, third] = await read();
    t.is(first?.actor, 'command line');
    t.like(second, {
      actor: 'user',
      user_id: origin.userId,
      email: origin.email,
      token_id: origin.tokenId,
      request_id: 'r1',
      address: '2001:db8::1',
    });
    t.like(third, { actor: 'gateway', email: null, request_id: null, address: null });
  });

  test(`${kind}: a value of any length leaves an entry of a bounded one`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database);
    const device = await addDevice(database, user);
    const read = reader(database);
    await read();
    const allowed_ips = Array.from({ length: 5_000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
    await write(database, (transaction) => device.update({ allowed_ips }, { transaction }));
    await write(database, (transaction) => device.update({ allowed_ips: [] }, { transaction }));
    const [grown, shrunk] = await read();
    const { length } = JSON.stringify(allowed_ips);
    t.true(length > VALUE_CHARACTERS_MAX);
    const summary = `(${length} characters of JSON)`;
    t.deepEqual(grown?.changes, { allowed_ips: { from: null, to: summary } });
    t.deepEqual(shrunk?.changes, { allowed_ips: { added: [], removed: summary } });
  });
}
