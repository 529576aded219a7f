// The two ends of a sign-in: taken once, by the browser that began it, at the provider where it
// began. The same through the whole protocols: oidc/sign-in.test.ts, saml/sign-in.test.ts.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { SIGN_IN_MS } from '../../../../lib/auth/identity/browser.ts';
import {
  forgetRequests,
  keepRequest,
  makeRoom,
  newState,
  sourceOf,
  takeRequest,
} from '../../../../lib/auth/identity/request.ts';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import { type LogLine, logInto } from '../../../../lib/testing/log.ts';
import { configOf } from '../../../support/api/server.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

const browserSha256 = 'b'.repeat(64);
const config = configOf();
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
  const keeper = { database, counters: new Counters(), log: logInto([]) };
  await forgetRequests(keeper).run(() => false);
  t.is(await database.models.SignInRequest.count(), 1);
  const expires_at = new Date(0);
  await database.models.SignInRequest.update({ expires_at }, { where: {} });
  await forgetRequests(keeper).run(() => false);
  t.is(await database.models.SignInRequest.count(), 0);
});

test('a network is a /48 or a /24, a scope in it a /64 or an address', (t) => {
  const same = (one: string, other: string) => {
    const [left, right] = [sourceOf(config, one), sourceOf(config, other)];
    return [left.network === right.network, left.scope === right.scope];
  };
  t.deepEqual(same('2001:db8:1:2::3', '2001:db8:1:2:4::5'), [true, true]);
  t.deepEqual(same('2001:db8:1:2::3', '2001:db8:1:3::3'), [true, false]);
  t.deepEqual(same('2001:db8:1::3', '2001:db8:2::3'), [false, false]);
  t.deepEqual(same('192.0.2.1', '192.0.2.2'), [true, false]);
  t.deepEqual(same('192.0.2.1', '::ffff:192.0.2.1'), [true, true]);
  t.regex(String(sourceOf(config, '192.0.2.1').scope), /^[0-9a-f]{64}$/);
});

test('what had to make room is counted and logged', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const log: LogLine[] = [];
  const counters = new Counters();
  const keeper = { database, counters, log: logInto(log), maxSignIns: 20 };
  const crowd = sourceOf(config, '192.0.2.1');
  await keepRequest(database, { ...begun, source: crowd, state: newState(), secrets: {} });
  await makeRoom(keeper);
  t.deepEqual(log, []);
  for (let i = 0; i < 4; i += 1) {
    await keepRequest(database, { ...begun, source: crowd, state: newState(), secrets: {} });
    await sleep(2);
  }
  await makeRoom(keeper);
  t.is(counters.of('sign_ins', 'forgotten_for_others'), 3);
  t.deepEqual(
    log.map(({ level, fields }) => ({ level, fields })),
    [{ level: 'warn', fields: { forgotten: 3 } }],
  );
  t.is(await database.models.SignInRequest.count({ where: { scope_sha256: crowd.scope } }), 2);
});
