// The two ends of a sign-in: taken once, by the browser that began it, at the provider where it
// began. The same through the whole protocols: oidc/sign-in.test.ts, saml/sign-in.test.ts.

import test from 'ava';
import { SIGN_IN_MS } from '../../../../lib/auth/identity/browser.ts';
import {
  forgetRequests,
  keepRequest,
  newState,
  takeRequest,
} from '../../../../lib/auth/identity/request.ts';
import { databaseKinds, openDatabase } from '../../../support/databases.ts';

const browserSha256 = 'b'.repeat(64);
const begun = { browserSha256, userId: 'u', kind: 'oidc', providerId: 'okta' } as const;

test('a state is 32 random bytes', (t) => {
  t.is(Buffer.from(newState(), 'base64url').length, 32);
  t.not(newState(), newState());
});

for (const kind of databaseKinds()) {
  test(`${kind}: what was kept is taken, once`, async (t) => {
    const database = await openDatabase(t, kind);
    const state = newState();
    await keepRequest(database, { ...begun, state, secrets: { nonce: 'n' } });
    const row = await database.models.SignInRequest.findOne({ rejectOnEmpty: true });
    t.is(row.expires_at.getTime() - row.inserted_at.getTime(), SIGN_IN_MS);
    const ending = { state, kind: 'oidc', providerId: 'okta', browserSha256 } as const;
    const { user_id, secrets } = await takeRequest(database, ending);
    t.is(user_id, 'u');
    t.deepEqual(secrets, { nonce: 'n' });
    await t.throwsAsync(takeRequest(database, ending), { message: 'request_unknown' });
  });

  test(`${kind}: where something disagrees the request is used up`, async (t) => {
    const database = await openDatabase(t, kind);
    const bad = [{ kind: 'saml' }, { providerId: 'x' }, { browserSha256: null }] as const;
    for (const wrong of bad) {
      const state = newState();
      await keepRequest(database, { ...begun, state, secrets: {} });
      const right = { state, kind: 'oidc', providerId: 'okta', browserSha256 } as const;
      await t.throwsAsync(takeRequest(database, { ...right, ...wrong }));
      await t.throwsAsync(takeRequest(database, right), { message: 'request_unknown' });
    }
  });
}

test('what came to nothing is forgotten', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  await keepRequest(database, { ...begun, state: newState(), secrets: {} });
  await forgetRequests(database).run();
  t.is(await database.models.SignInRequest.count(), 1);
  const expires_at = new Date(0);
  await database.models.SignInRequest.update({ expires_at }, { where: {} });
  await forgetRequests(database).run();
  t.is(await database.models.SignInRequest.count(), 0);
});
