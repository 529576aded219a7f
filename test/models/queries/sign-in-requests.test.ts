// Sign-ins under way: each is taken once, in time, by whoever knows the state; and they are bounded.

import test from 'ava';
import {
  beginSignInRequest,
  type Database,
  findSignInRequest,
  forgetSignInRequests,
  takeSignInRequest,
} from '../../../models/index.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

const now = new Date('2026-11-21T12:00:00Z');
const at = (seconds: number) => new Date(now.getTime() + seconds * 1_000);

function begin(database: Database, state: string, seconds = 0): Promise<void> {
  return beginSignInRequest(database, {
    state,
    kind: 'oidc',
    providerId: 'okta',
    browserSha256: 'b'.repeat(64),
    userId: null,
    source: { network: null, scope: null },
    secrets: { nonce: 'the-nonce', verifier: 'the-verifier' },
    now: at(seconds),
    expiresAt: at(seconds + 600),
  });
}

for (const kind of databaseKinds()) {
  test(`${kind}: a sign-in is taken once, by one of many`, async (t) => {
    const database = await openDatabase(t, kind);
    await begin(database, 'state');
    t.is(await takeSignInRequest(database, 'other', now), null);
    const taken = await Promise.all(
      Array.from({ length: 5 }, () => takeSignInRequest(database, 'state', at(599))),
    );
    const [row, ...more] = taken.filter((one) => one !== null);
    t.deepEqual(more, []);
    t.deepEqual(row?.secrets, { nonce: 'the-nonce', verifier: 'the-verifier' });
    t.is(row?.provider_id, 'okta');
  });

  test(`${kind}: a sign-in is read as often as one likes, in time`, async (t) => {
    const database = await openDatabase(t, kind);
    await begin(database, 'state');
    for (const when of [now, at(599)])
      t.is((await findSignInRequest(database, 'state', when))?.provider_id, 'okta');
    t.is(await findSignInRequest(database, 'state', at(600)), null);
    t.is(await findSignInRequest(database, 'other', now), null);
    t.is(await findSignInRequest(database, 'state', at(-86_400)), null, 'the clock came back');
    await forgetSignInRequests(database, at(-86_400));
    t.is(await database.models.SignInRequest.count(), 0);
  });

  test(`${kind}: a sign-in that took too long is void`, async (t) => {
    const database = await openDatabase(t, kind);
    await begin(database, 'state');
    t.is(await takeSignInRequest(database, 'state', at(600)), null);
    t.is(await takeSignInRequest(database, 'state', now), null, 'and gone');
  });

  test(`${kind}: neither state nor secrets stand in the table`, async (t) => {
    const database = await openDatabase(t, kind);
    await begin(database, 'the-state');
    const [rows] = await database.sequelize.query('SELECT * FROM sign_in_requests');
    t.notRegex(JSON.stringify(rows), /the-state|the-nonce|the-verifier/);
    const row = await database.models.SignInRequest.findOne();
    t.false(JSON.stringify(row).includes('the-nonce'));
  });

  test(`${kind}: what expired is forgotten, and the earliest of too many`, async (t) => {
    const database = await openDatabase(t, kind);
    for (const i of [0, 1, 2, 3]) await begin(database, `s${i}`, i * 100);
    t.is(await forgetSignInRequests(database, at(600), 30), 0);
    t.is(await database.models.SignInRequest.count(), 3, 'one had expired');
    // Of 20 places one scope may have a tenth.
    for (const i of [4, 5]) await begin(database, `s${i}`, i * 100);
    t.is(await forgetSignInRequests(database, at(600), 20), 3);
    t.is(await database.models.SignInRequest.count(), 2);
    t.not(await takeSignInRequest(database, 's5', at(601)), null);
    t.not(await takeSignInRequest(database, 's4', at(601)), null);
  });
}
