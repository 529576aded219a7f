// Where too many sign-ins are under way, those who have most lose their earliest ones.

import test from 'ava';
import { beginSignInRequest, type Database } from '../../../models/index.ts';
import { makeSignInRoom, SIGN_IN_REQUESTS_MAX } from '../../../models/queries/sign-in-room.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';

let began = 0;

/** Sign-ins of one scope, each begun after all before. */
async function begin(
  database: Database,
  source: { network: string | null; scope: string | null },
  count: number,
): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    began += 1;
    const now = new Date(Date.UTC(2026, 10, 21) + began * 1_000);
    await beginSignInRequest(database, {
      state: `state ${began}`,
      kind: 'oidc',
      providerId: 'okta',
      browserSha256: 'b'.repeat(64),
      userId: null,
      source,
      secrets: {},
      now,
      expiresAt: new Date(now.getTime() + 600_000),
    });
  }
}

/** How many sign-ins each scope has under way. */
async function held(database: Database): Promise<Record<string, number>> {
  const rows = await database.models.SignInRequest.findAll();
  const scopes = Map.groupBy(rows, ({ network_sha256: network, scope_sha256: scope }) => {
    return `${network} ${scope}`;
  });
  return Object.fromEntries([...scopes].map(([name, { length }]) => [name, length]));
}

test('20,000 sign-ins may be under way', (t) => {
  t.is(SIGN_IN_REQUESTS_MAX, 20_000);
});

for (const kind of databaseKinds()) {
  test(`${kind}: a scope has a tenth of the places, a network a quarter`, async (t) => {
    const database = await openDatabase(t, kind);
    await begin(database, { network: 'a', scope: '1' }, 5);
    t.is(await makeSignInRoom(database, 40), 1);
    for (const scope of ['2', '3', '4']) await begin(database, { network: 'a', scope }, 2);
    await begin(database, { network: 'b', scope: '1' }, 4);
    t.is(await makeSignInRoom(database, 40), 0);
    await begin(database, { network: 'a', scope: '4' }, 1);
    t.is(await makeSignInRoom(database, 40), 1, 'of the scope that has most');
    const expected = { 'a 1': 3, 'a 2': 2, 'a 3': 2, 'a 4': 3, 'b 1': 4 };
    t.deepEqual(await held(database), expected);
  });

  test(`${kind}: the networks that have most make room for others`, async (t) => {
    const database = await openDatabase(t, kind);
    await begin(database, { network: 'quiet', scope: '1' }, 1);
    for (const network of ['a', 'b', 'c', 'd', 'e'])
      for (const scope of ['1', '2', '3']) await begin(database, { network, scope }, 2);
    t.is(await makeSignInRoom(database, 20), 11);
    const counts = Object.entries(await held(database));
    t.is(
      counts.reduce((sum, [, count]) => sum + count, 0),
      20,
    );
    t.deepEqual(
      counts.filter(([scope]) => scope === 'quiet 1'),
      [['quiet 1', 1]],
    );
    const ofNetwork = Map.groupBy(counts, ([scope]) => scope.slice(0, 1));
    for (const network of ['a', 'b', 'c', 'd', 'e']) {
      const own = (ofNetwork.get(network) ?? []).reduce((sum, [, count]) => sum + count, 0);
      t.true(own === 3 || own === 4, network);
    }
  });

  test(`${kind}: of equals those that began first are forgotten`, async (t) => {
    const database = await openDatabase(t, kind);
    for (const network of ['z', 'y', 'x', 'w']) await begin(database, { network, scope: '1' }, 1);
    await begin(database, { network: null, scope: null }, 1);
    t.is(await makeSignInRoom(database, 3), 2);
    t.deepEqual(Object.keys(await held(database)).toSorted(), ['null null', 'w 1', 'x 1']);
  });
}
