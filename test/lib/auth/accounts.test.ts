// The administrator that a start or a command makes; shutting a user out and letting them in again.

import test from 'ava';
import {
  type AdministratorValues,
  validateAdministrator,
} from '../../../lib/auth/account-fields.ts';
import {
  Accounts,
  makeFirstUser,
  switchedUser,
  unfitAdministrator,
} from '../../../lib/auth/accounts.ts';
import { verifyPassword } from '../../../lib/auth/passwords.ts';
import { commandLineCaller } from '../../../lib/cli/perform.ts';
import { ApiError } from '../../../lib/kit/http/errors.ts';
import { Writes } from '../../../lib/kit/records/writes.ts';
import { messages } from '../../../lib/kit/validation/messages.ts';
import { configOf } from '../../../lib/testing/settings.ts';
import { type Database, writeTransaction } from '../../../models/index.ts';
import { addUser } from '../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

const COST = 4;
const password = 'correct horse battery';

const ensure = (database: Database, sent: AdministratorValues) =>
  new Accounts({
    services: { config: configOf({}), database, passwordCost: COST },
    writes: new Writes(database),
  }).ensureAdministrator(commandLineCaller(), validateAdministrator(sent, 'create'));

for (const kind of databaseKinds()) {
  test(`${kind}: an administrator's switch beats a provider's and remembers when`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User } = database.models;
    const { result: user } = await writeTransaction(database, (transaction) =>
      User.create({ email: 'Ann@example.com' }, { transaction }),
    );
    const state = async (): Promise<[Date | null, string | null]> => {
      await user.reload();
      return [user.disabled_at, user.disabled_by];
    };
    const since = new Date('2026-01-01T00:00:00Z');
    await writeTransaction(database, (transaction) =>
      User.update(
        { disabled_at: since, disabled_by: 'provider' },
        { where: { id: user.id }, transaction },
      ),
    );
    const switchTo = (isEnabled: boolean) =>
      writeTransaction(database, async (transaction) => {
        const row = await User.findByPk(user.id, { transaction, lock: true, rejectOnEmpty: true });
        await row.update(switchedUser(row, isEnabled), { transaction });
      });
    await switchTo(false);
    t.deepEqual(await state(), [since, 'administrator']);
    const updated = user.updated_at;
    await switchTo(false);
    await state();
    t.deepEqual(user.updated_at, updated, 'again is no change');
    await switchTo(true);
    t.deepEqual(await state(), [null, null]);
    await switchTo(false);
    t.is((await state())[1], 'administrator');
  });

  test(`${kind}: no administrator is made whose e-mail looks like that of a user`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, { email: 'kim@example.com' });
    const email = 'k\u0131m@example.com';
    const refused = await t.throwsAsync(ensure(database, { email, password }), {
      instanceOf: ApiError,
    });
    t.deepEqual(refused?.errors, { email: [messages.looksTaken] });
    t.false(await makeFirstUser(database, { email, password }, COST));
    t.is(await database.models.User.count(), 1);
  });

  test(`${kind}: an administrator is made, or made of the user who has the e-mail`, async (t) => {
    const database = await openDatabase(t, kind);
    const { User } = database.models;
    const made = await ensure(database, { email: ' Ann@example.com ', password });
    const row = await User.findByPk(made.user_id, { rejectOnEmpty: true });
    t.like(row.get(), { email: 'Ann@example.com', role: 'admin', disabled_at: null });
    t.true(await verifyPassword(password, String(row.password_hash)));
    await writeTransaction(database, (transaction) =>
      User.update(
        { role: 'unprivileged', disabled_at: new Date(), disabled_by: 'provider' },
        { where: { id: made.user_id }, transaction },
      ),
    );
    const again = await ensure(database, {
      email: 'ANN@EXAMPLE.COM',
      password: 'another password',
    });
    t.is(again.user_id, made.user_id);
    await row.reload();
    t.like(row.get(), {
      email: 'Ann@example.com',
      role: 'admin',
      disabled_at: null,
      disabled_by: null,
    });
    t.true(await verifyPassword('another password', String(row.password_hash)));
    t.is(await User.count(), 1);
  });

  test(`${kind}: an administrator needs an e-mail and a fit password`, async (t) => {
    const database = await openDatabase(t, kind);
    const unfit: [email: string, password: string, sentence: RegExp, field: string][] = [
      ['ann', password, /no e-mail/, 'email'],
      ['a@b', '', /12 to 64 characters, this one has 0/, 'password'],
      ['a@b', 'short', /12 to 64 characters/, 'password'],
      ['a@b', 'x'.repeat(65), /12 to 64 characters/, 'password'],
      ['a@b', 'ä'.repeat(40), /72 bytes/, 'password'],
    ];
    for (const [email, secret, message, field] of unfit) {
      const administrator = { email, password: secret };
      const refused = await t.throwsAsync(ensure(database, administrator), {
        instanceOf: ApiError,
      });
      t.deepEqual(Object.keys(refused?.errors ?? {}), [field]);
      t.regex(unfitAdministrator(administrator)?.message ?? '', message);
      await t.throwsAsync(makeFirstUser(database, administrator, COST), { message });
    }
    t.is(unfitAdministrator({ email: 'a@b', password }), null);
    t.is(await database.models.User.count(), 0);
  });

  test(`${kind}: of several first administrators one is made`, async (t) => {
    const database = await openDatabase(t, kind);
    const made = await Promise.all(
      [1, 2, 3].map((n) => makeFirstUser(database, { email: `a${n}@b`, password }, COST)),
    );
    t.is(made.filter((isMade) => isMade).length, 1);
    t.is(await database.models.User.count(), 1);
    t.false(await makeFirstUser(database, { email: 'late@b', password }, COST));
    t.is(await database.models.User.count(), 1);
  });

  test(`${kind}: users without an administrator among them get one, and nobody is promoted`, async (t) => {
    const database = await openDatabase(t, kind);
    const { id } = await addUser(database, { email: 'ann@b' });
    t.false(await makeFirstUser(database, { email: 'Ann@b', password }, COST));
    t.is((await database.models.User.findByPk(id))?.role, 'unprivileged');
    t.true(await makeFirstUser(database, { email: 'boss@b', password }, COST));
    t.is(await database.models.User.count({ where: { role: 'admin' } }), 1);
  });
}
