// Tokens of identities: kept encrypted, claimed by one gateway at a time, and never overwritten by
// what a claim brings late.

import test from 'ava';
import type { ExecutionContext } from 'ava';
import {
  claimDueTokens,
  type Database,
  type IdentityTokens,
  keepTokens,
  type ProviderTokens,
  type Settlement,
  settleTokens,
} from '../../../models/index.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  openDatabase,
  type TestDatabaseKind,
} from '../../support/database/databases.ts';
import { migrate } from '../../../models/index.ts';
import { addIdentity, addUser, write } from '../fixtures.ts';

const now = new Date('2026-11-21T12:00:00Z');
const at = (seconds: number) => new Date(now.getTime() + seconds * 1_000);
const ALICE = '00000000-0000-7000-8000-00000000000a';
const BOB = '00000000-0000-7000-8000-00000000000b';

function keep(database: Database, id: string, tokens: ProviderTokens, refreshAt = now) {
  return write(database, (transaction) =>
    keepTokens(database, id, { tokens, refreshAt, now }, transaction),
  );
}

function claim(database: Database, owner: string, seconds = 0): Promise<IdentityTokens[]> {
  const [from, until] = [at(seconds), at(seconds + 60)];
  return claimDueTokens(database, { owner, now: from, until, limit: 10, longestMs: 600_000 });
}

function settle(database: Database, row: IdentityTokens, owner: string, to: Settlement) {
  return write(database, (transaction) => settleTokens(database, row, owner, to, transaction));
}

async function withTokens(t: ExecutionContext, kind: TestDatabaseKind, tokens: ProviderTokens) {
  const database = await openDatabase(t, kind);
  const { id } = await addIdentity(database, await addUser(database));
  await keep(database, id, tokens);
  const read = () => database.models.IdentityTokens.findByPk(id, { rejectOnEmpty: true });
  return { database, id, read };
}

for (const kind of databaseKinds()) {
  test(`${kind}: tokens are encrypted, and stay out of the JSON of the row`, async (t) => {
    const { database, read } = await withTokens(t, kind, { refreshToken: 'secret-r' });
    const row = await read();
    t.deepEqual(row.tokens, { refreshToken: 'secret-r' });
    t.false(JSON.stringify(row).includes('secret-r'));
    const [rows] = await database.sequelize.query('SELECT * FROM identity_tokens');
    t.false(JSON.stringify(rows).includes('secret-r'));
  });

  test(`${kind}: a sign-in without a refresh token leaves the one that is there`, async (t) => {
    const { database, id, read } = await withTokens(t, kind, { refreshToken: 'r', idToken: 'i' });
    await keep(database, id, { idToken: 'j' }, at(9));
    const row = await read();
    t.deepEqual(row.tokens, { refreshToken: 'r', idToken: 'j' });
    t.deepEqual(row.refresh_at, at(9));
    t.is(row.version, 2);
  });

  test(`${kind}: what cannot be refreshed is never due`, async (t) => {
    const { database } = await withTokens(t, kind, { idToken: 'i' });
    t.deepEqual(await claim(database, ALICE, 1e6), []);
  });

  test(`${kind}: of two gateways one claims a row, until the claim runs out`, async (t) => {
    const place = await makePlace(t, kind);
    const [one, other] = [await openAt(t, place), await openAt(t, place)];
    await migrate(one);
    const { id } = await addIdentity(one, await addUser(one));
    await keep(one, id, { refreshToken: 'r' });
    t.deepEqual(await claim(one, ALICE, -1), [], 'not due');
    const claims = await Promise.all([claim(one, ALICE), claim(other, BOB)]);
    t.is(claims.flat().length, 1);
    t.deepEqual(await claim(other, BOB, 59), []);
    t.is((await claim(other, BOB, 60)).length, 1);
  });

  test(`${kind}: a turn and a claim that a clock set that was far ahead hold nobody up`, async (t) => {
    const { database } = await withTokens(t, kind, { refreshToken: 'r' });
    t.deepEqual(await claim(database, ALICE, -600), [], 'ten minutes ahead');
    t.is((await claim(database, ALICE, -86_400)).length, 1);
    t.is((await claim(database, BOB, -2 * 86_400)).length, 1);
  });

  test(`${kind}: a settled claim keeps what it brought, and is over`, async (t) => {
    const { database, read } = await withTokens(t, kind, { refreshToken: 'r' });
    const [row] = await claim(database, ALICE);
    const tokens = { refreshToken: 's' };
    const settled = { tokens, refreshAt: at(600), refreshedAt: at(1), error: null };
    t.true(await settle(database, row!, ALICE, settled));
    t.deepEqual((await read()).tokens, tokens);
    t.deepEqual((await read()).refreshed_at, at(1));
    t.false(await settle(database, row!, ALICE, settled), 'twice');
    t.is((await claim(database, BOB, 600)).length, 1);
  });

  test(`${kind}: a sign-in during a refresh wins, and so does a later claim`, async (t) => {
    const { database, id, read } = await withTokens(t, kind, { refreshToken: 'r' });
    const [row] = await claim(database, ALICE);
    await keep(database, id, { refreshToken: 'from sign-in' });
    const refused = { tokens: {}, refreshAt: null, error: 'invalid_grant' };
    t.false(await settle(database, row!, ALICE, refused));
    const [late] = await claim(database, ALICE);
    const [mine] = await claim(database, BOB, 61);
    t.false(await settle(database, late!, ALICE, refused));
    t.true(await settle(database, mine!, BOB, { refreshAt: at(700), error: 'status 503' }));
    t.deepEqual((await read()).tokens, { refreshToken: 'from sign-in' });
    t.is((await read()).error, 'status 503');
  });
}
