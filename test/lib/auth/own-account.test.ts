// What people do with their own account, each in one write that asks again who they are.

import test, { type ExecutionContext } from 'ava';
import { ApiError } from '../../../lib/kit/http/errors.ts';
import { OwnAccounts } from '../../../lib/auth/own-account.ts';
import { hasSecondFactor } from '../../../lib/auth/second-factors.ts';
import type { Caller } from '../../../lib/kit/process/caller.ts';
import { Writes } from '../../../lib/kit/records/writes.ts';
import {
  type Database,
  readAuditEntries,
  type Transaction,
  type User,
  writeTransaction,
} from '../../../models/index.ts';
import {
  firstKind,
  openDatabase,
  type TestDatabaseKind,
} from '../../support/database/databases.ts';
import { addPerson } from '../../support/web/visitor.ts';

let sessions = 0;

/** Makes the row of a session; returns its id. */
async function beginSession(
  database: Database,
  { id: user_id }: Pick<User, 'id'>,
  transaction?: Transaction,
): Promise<string> {
  const { id } = await database.models.Session.create(
    {
      user_id,
      sha256: `${(sessions += 1)}`.padStart(64, '0'),
      state: 'open',
      method: 'email',
      inserted_at: new Date(),
      seen_at: new Date(),
    },
    transaction === undefined ? {} : { transaction },
  );
  return id;
}

async function open(t: ExecutionContext, kind: TestDatabaseKind) {
  const database = await openDatabase(t, kind);
  const accounts = new OwnAccounts({ services: { database }, writes: new Writes(database) });
  const user = await addPerson(database, 'ann@example.com');
  const callerIn = (sessionId: string): Caller => ({
    origin: { actor: 'user', userId: user.id, email: user.email, isUnprivileged: true },
    letIn: { tokenId: null, sessionId, role: 'unprivileged' },
    userId: user.id,
    seesSecrets: true,
    revision: null,
  });
  const begin = (present: User, transaction: Transaction) =>
    beginSession(database, present, transaction);
  const left = async () =>
    (await database.models.Session.findAll({ where: { user_id: user.id } })).map(({ id }) => id);
  return { database, accounts, user, callerIn, begin, left };
}

for (const kind of firstKind()) {
  test(`${kind}: another password ends all sessions but that of the browser which set it`, async (t) => {
    const { database, accounts, user, callerIn, begin, left } = await open(t, kind);
    const own = await beginSession(database, user);
    await beginSession(database, user);
    const next = await accounts.changePassword(callerIn(own), user.password_hash, 'next', begin);
    t.deepEqual(await left(), [next]);
    t.is((await user.reload()).password_hash, 'next');
    const error = await t.throwsAsync(
      accounts.changePassword(callerIn(next), 'former', 'again', begin),
      { instanceOf: ApiError },
    );
    t.is(error.code, 'stale_form', 'somebody changed it after it was compared');
    t.is((await user.reload()).password_hash, 'next');
    t.deepEqual(await left(), [next]);
  });

  test(`${kind}: sessions of one's own end, and of nobody else`, async (t) => {
    const { database, accounts, user, callerIn, left } = await open(t, kind);
    const [own, second, third] = [
      await beginSession(database, user),
      await beginSession(database, user),
      await beginSession(database, user),
    ];
    const others = await beginSession(database, await addPerson(database, 'bob@example.com'));
    t.is(await accounts.endSessions(callerIn(own), others), 0);
    t.truthy(await database.models.Session.findByPk(others));
    t.is(await accounts.endSessions(callerIn(own), second), 1);
    t.deepEqual((await left()).sort(), [own, third].sort());
    t.is(await accounts.endSessions(callerIn(own), null), 1);
    t.deepEqual(await left(), [own]);
    const found = await readAuditEntries(database, { limit: 10, recordId: user.id });
    const ends = found.filter(({ action }) => action === 'sign out');
    t.deepEqual(
      ends.map(({ changes }) => changes),
      [{ sessions: { to: 1 } }, { sessions: { to: 1 } }],
      'who ended none is not in the trail',
    );
  });

  test(`${kind}: second factors change by a code of the present ones, in a session that lives`, async (t) => {
    const { database, accounts, user, callerIn, begin, left } = await open(t, kind);
    let own = await beginSession(database, user);
    const factor = { name: 'phone', secret: 'A'.repeat(32), step: 0 };
    const wrong = async () => false;
    const good = async () => true;
    const first = await accounts.addSecondFactor(callerIn(own), factor, { spend: wrong, begin });
    if (typeof first === 'string') return t.fail(first);
    t.is(first.result.recoveryCodes.length, 10, 'the first one needs no code');
    t.deepEqual(await left(), [first.secret]);
    own = first.secret;
    const bad = await accounts.addSecondFactor(callerIn(own), factor, { spend: wrong, begin });
    t.is(bad, 'bad code');
    t.is(await accounts.renewRecoveryCodes(callerIn(own), { spend: wrong, begin }), null);
    const { id } = await database.models.SecondFactor.findOne({ rejectOnEmpty: true });
    t.is(await accounts.removeSecondFactor(callerIn(own), id, { spend: wrong, begin }), null);
    t.deepEqual(await left(), [own], 'nothing was changed');
    const renewed = await accounts.renewRecoveryCodes(callerIn(own), { spend: good, begin });
    t.is(renewed?.result.length, 10);
    own = renewed?.secret ?? '';
    const removed = await accounts.removeSecondFactor(callerIn(own), id, { spend: good, begin });
    t.true(removed?.result);
    t.false(await hasSecondFactor(database, user.id));
  });

  test(`${kind}: a session that ended meanwhile begins no other`, async (t) => {
    const { database, accounts, user, callerIn, begin, left } = await open(t, kind);
    const own = await beginSession(database, user);
    const caller = callerIn(own);
    await writeTransaction(database, (transaction) =>
      database.models.Session.destroy({ where: { id: own }, transaction }),
    );
    const factor = { name: 'phone', secret: 'A'.repeat(32), step: 0 };
    const spend = async () => true;
    await t.throwsAsync(accounts.addSecondFactor(caller, factor, { spend, begin }), {
      instanceOf: ApiError,
    });
    t.deepEqual(await left(), []);
    t.false(await hasSecondFactor(database, user.id));
  });
}
