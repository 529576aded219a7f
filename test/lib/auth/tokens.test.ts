// API tokens, as the first start creates them, and as they are listed and found.
// docs/api.md#authentication.

import { mock } from 'node:test';
import test from 'ava';
import {
  createToken,
  ensureBootstrapToken,
  findTokenOwner,
  hashToken,
  isTokenText,
  listTokens,
} from '../../../lib/auth/tokens.ts';
import { ApiError } from '../../../lib/kit/http/errors.ts';
import { type Database, registerGateway, writeTransaction } from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { disableUser, revokeToken } from '../../support/database/revoke.ts';

const DAY_MS = 86_400_000;
const BOOTSTRAP = `pst_${'b'.repeat(43)}`;

async function addUser(
  database: Database,
  email: string,
  role: 'admin' | 'unprivileged' = 'admin',
): Promise<string> {
  const { result } = await writeTransaction(database, (transaction) =>
    database.models.User.create({ email, role }, { transaction }),
  );
  return result.id;
}

for (const kind of databaseKinds()) {
  test(`${kind}: a token is shown once and kept as a hash`, async (t) => {
    const database = await openDatabase(t, kind);
    const userId = await addUser(database, 'Ann@example.com');
    const now = new Date();
    const made = await createToken(database, { email: ' ann@EXAMPLE.com', name: ' ci ' }, now);
    t.regex(made.token, /^pst_[A-Za-z0-9_-]{43}$/);
    t.true(isTokenText(made.token));
    t.is(Buffer.from(made.token.slice(4), 'base64url').length, 32);
    t.is(made.expires_at.getTime(), now.getTime() + 90 * DAY_MS);
    const row = await database.models.ApiToken.findByPk(made.id, { raw: true });
    t.false(JSON.stringify(row).includes(made.token.slice(4)));
    t.like(row, { name: 'ci', sha256: hashToken(made.token), user_id: userId });
    t.like(await findTokenOwner(database, hashToken(made.token)), {
      userId,
      role: 'admin',
      isDisabled: false,
    });
    t.is(await findTokenOwner(database, hashToken('x')), null);
  });

  test(`${kind}: a token has an owner, who is enabled`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, 'ann@example.com');
    const make = (email: string): Promise<unknown> => createToken(database, { email, name: 'x' });
    await t.throwsAsync(make('bob@example.com'), { message: /no user bob@example.com/ });
    await disableUser(database, 'ann@example.com');
    const error = await t.throwsAsync(make('ann@example.com'), { instanceOf: ApiError });
    const base = [{ code: 'tokenOfDisabled', values: { email: 'ann@example.com' } }];
    t.deepEqual(error.errors, { base });
  });

  test(`${kind}: a user has at most 25 valid tokens, even if many are created at once`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, 'ann@example.com');
    const make = (days: number, now?: Date): Promise<unknown> =>
      createToken(database, { email: 'ann@example.com', name: 'x', days }, now);
    for (let i = 0; i < 3; i += 1) await make(1, new Date(Date.now() - 2 * DAY_MS));
    const results = await Promise.allSettled(Array.from({ length: 30 }, () => make(1)));
    t.is(
      results.filter(({ status }) => status === 'fulfilled').length,
      25,
      'expired ones do not count',
    );
    for (const result of results)
      if (result.status === 'rejected')
        t.deepEqual(result.reason.errors, {
          base: [{ code: 'tooManyTokens', values: { most: 25 } }],
        });
  });

  test(`${kind}: tokens are listed with their owners and revoked by id`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, 'ann@example.com');
    await addUser(database, 'bob@example.com');
    const first = await createToken(database, { email: 'ann@example.com', name: 'one' });
    const second = await createToken(database, { email: 'bob@example.com', name: 'two' });
    const all = await listTokens(database);
    t.deepEqual(
      all.map(({ id, email, name }) => [id, email, name]),
      [
        [first.id, 'ann@example.com', 'one'],
        [second.id, 'bob@example.com', 'two'],
      ],
    );
    t.deepEqual(Object.keys(all[0]!).sort(), [
      'email',
      'expires_at',
      'id',
      'inserted_at',
      'last_used_at',
      'name',
      'scopes',
    ]);
    t.is((await listTokens(database, { email: 'BOB@example.com' })).length, 1);
    t.is((await listTokens(database, { email: 'x' })).length, 0);
    t.true(await revokeToken(database, first.id));
    t.is((await listTokens(database)).length, 1);
  });

  test(`${kind}: the bootstrap token exists after every start, for the first administrator`, async (t) => {
    const database = await openDatabase(t, kind);
    await t.notThrowsAsync(ensureBootstrapToken(database, 'one', BOOTSTRAP));
    t.is((await listTokens(database)).length, 0, 'nobody administers');
    await addUser(database, 'weak@example.com', 'unprivileged');
    const ann = await addUser(database, 'ann@example.com');
    await addUser(database, 'bob@example.com');
    await Promise.all([1, 2, 3].map(() => ensureBootstrapToken(database, 'one', BOOTSTRAP)));
    const [made, ...others] = await listTokens(database);
    t.deepEqual([made?.email, made?.expires_at, others.length], ['ann@example.com', null, 0]);
    await ensureBootstrapToken(database, 'one', BOOTSTRAP);
    t.is((await listTokens(database))[0]?.id, made?.id, 'an existing token is kept');
    await revokeToken(database, made!.id);
    await ensureBootstrapToken(database, 'one', BOOTSTRAP);
    t.is((await listTokens(database)).length, 1, 'made anew after it was revoked');
    await writeTransaction(database, (transaction) =>
      database.models.User.update(
        { disabled_at: new Date(), disabled_by: 'administrator' },
        { where: { id: ann }, transaction },
      ),
    );
    await ensureBootstrapToken(database, 'one', BOOTSTRAP);
    t.is((await listTokens(database))[0]?.email, 'bob@example.com');
    const other = `pst_${'c'.repeat(43)}`;
    await ensureBootstrapToken(database, 'one', other);
    t.is(
      await findTokenOwner(database, hashToken(BOOTSTRAP)),
      null,
      'another value voids this one',
    );
    const kept = await createToken(database, { email: 'bob@example.com', name: 'kept' });
    await ensureBootstrapToken(database, 'one', null);
    t.deepEqual(
      (await listTokens(database)).map(({ id }) => id),
      [kept.id],
      'not set any more',
    );
  });

  test(`${kind}: gateways with different bootstrap tokens do not touch those of others`, async (t) => {
    const database = await openDatabase(t, kind);
    await addUser(database, 'ann@example.com');
    const startedAt = new Date();
    for (const id of ['one', 'two', 'three'])
      await registerGateway(database, { id, name: id, startedAt });
    const [ofOne, ofTwo, shared] = ['1', '2', 's'].map((digit) => `pst_${digit.repeat(43)}`);
    const opens = async (): Promise<boolean[]> =>
      Promise.all(
        [ofOne, ofTwo, shared].map(
          async (token) => (await findTokenOwner(database, hashToken(token!))) !== null,
        ),
      );
    await ensureBootstrapToken(database, 'one', ofOne!);
    await ensureBootstrapToken(database, 'two', ofTwo!);
    t.deepEqual(await opens(), [true, true, false], 'neither voids the other');
    await ensureBootstrapToken(database, 'three', null);
    t.deepEqual(await opens(), [true, true, false], 'nor does one without');
    await ensureBootstrapToken(database, 'one', shared!);
    await ensureBootstrapToken(database, 'three', shared!);
    t.deepEqual(await opens(), [false, true, true], 'another value voids the one before');
    await ensureBootstrapToken(database, 'one', null);
    t.deepEqual(await opens(), [false, true, true], 'the third still asks for it');
    const later = new Date(startedAt.getTime() + 2 * 3_600_000);
    await registerGateway(database, { id: 'one', name: 'one', startedAt: later });
    await ensureBootstrapToken(database, 'one', ofOne!, later);
    t.deepEqual(await opens(), [true, false, false], 'who is gone asks for nothing');
  });
}

for (const kind of databaseKinds().filter((one) => one === 'mariadb'))
  test.serial(
    `${kind}: a start with a wrong clock deletes no token of other gateways`,
    async (t) => {
      const database = await openDatabase(t, kind);
      await addUser(database, 'ann@example.com');
      const ofOne = `pst_${'1'.repeat(43)}`;
      await registerGateway(database, { id: 'one', name: 'one', startedAt: new Date() });
      await ensureBootstrapToken(database, 'one', ofOne);
      // A host without a clock of its own starts years ago, and another one years ahead.
      for (const [id, days] of [
        ['two', -2_000],
        ['three', 730],
      ] as const) {
        mock.timers.enable({ apis: ['Date'], now: Date.now() + days * DAY_MS });
        try {
          await registerGateway(database, { id, name: id, startedAt: new Date() });
          await ensureBootstrapToken(database, id, `pst_${id[1]?.repeat(43)}`);
        } finally {
          mock.timers.reset();
        }
        t.not(await findTokenOwner(database, hashToken(ofOne)), null, `${days} days`);
      }
    },
  );

test('a token is pst_ and 43 characters of base64url, and nothing else is', (t) => {
  for (const bad of [
    '',
    'pst_',
    BOOTSTRAP.slice(1),
    `${BOOTSTRAP}b`,
    `${BOOTSTRAP}\n`,
    BOOTSTRAP.replace('b', '+'),
  ])
    t.false(isTokenText(bad), bad);
  t.true(isTokenText(BOOTSTRAP));
});
