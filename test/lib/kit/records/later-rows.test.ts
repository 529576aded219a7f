// API and console of a gateway under which a later version migrated the database: reads go on for
// whoever had access before, ends are obeyed at once, and nothing is written.

import test, { type ExecutionContext } from 'ava';
import { createToken } from '../../../../lib/auth/tokens.ts';
import { refuseLaterRow } from '../../../../lib/kit/records/later-rows.ts';
import { currentRevision, migrate, writeTransaction } from '../../../../models/index.ts';
import { ADMIN_EMAIL, newKey, serverOn } from '../../../support/api/server.ts';
import {
  databaseKinds,
  makePlace,
  openAt,
  type TestDatabaseKind,
} from '../../../support/database/databases.ts';
import { LATER_STEP, migrateLater } from '../../../support/database/later-step.ts';
import { addPerson, PASSWORD, Visitor } from '../../../support/web/visitor.ts';

const NEWER = { error: 'schema_newer' };

test('a row is later where it is newer than the step, or the clocks may differ', (t) => {
  const since = new Date(100_000);
  const later = { step: LATER_STEP.name, since };
  t.notThrows(() => refuseLaterRow({ later: null }, new Date()));
  t.notThrows(() => refuseLaterRow({ later }, new Date(90_000)));
  for (const ms of [90_001, 100_000, 200_000])
    t.throws(() => refuseLaterRow({ later }, new Date(ms)), { message: /9999-later/ });
});

/** A server whose tokens and people are older than any step; then the place, to migrate it. */
async function begin(t: ExecutionContext, kind: TestDatabaseKind) {
  const place = await makePlace(t, kind);
  const database = await openAt(t, place);
  await migrate(database);
  const opened = await serverOn(database);
  await database.sequelize.query("UPDATE api_tokens SET inserted_at = '2026-01-01 00:00:00.000'");
  return { place, ...opened };
}

for (const kind of databaseKinds()) {
  test(`${kind}: reads go on, writes are refused, ends are obeyed`, async (t) => {
    const { place, send, adminId, services, log, database } = await begin(t, kind);
    const device = { device: { user_id: adminId, public_key: newKey() } };
    t.is((await send('POST', '/v0/devices', { body: device })).status, 201);
    const later = await migrateLater(t, place);
    t.is((await send('GET', '/v0/devices')).status, 200);
    const body = { device: { user_id: adminId, public_key: newKey() } };
    for (const [method, path, sent] of [
      ['POST', '/v0/devices', { body }],
      ['POST', '/v0/rules', { body: { rule: { destination: '10.0.0.0/8' } } }],
      ['PATCH', '/v0/configuration', { body: { configuration: { default_action: 'accept' } } }],
    ] as const) {
      const answer = await send(method, path, sent);
      t.deepEqual([answer.status, answer.body], [503, NEWER], `${method} ${path}`);
      t.is(answer.headers['retry-after'], '5');
    }
    t.is(services.counters.of('requests_refused', 'schema_newer'), 3);
    t.deepEqual(
      log.filter(({ level }) => level === 'error' || level === 'warn'),
      [],
    );
    t.is(await later.models.Device.count(), 1);

    // A token of now may be limited in a way that this version does not know.
    const { token } = await createToken(later, { email: ADMIN_EMAIL, name: 'later' });
    const read = () => send('GET', '/v0/devices', { token });
    t.deepEqual((await read()).body, NEWER);
    await writeTransaction(later, (transaction) =>
      later.models.ApiToken.destroy({ where: { name: 'test' }, transaction }),
    );
    t.is((await send('GET', '/v0/devices')).status, 401);
    await later.sequelize.query(`DELETE FROM migrations WHERE name = '${LATER_STEP.name}'`);
    t.is((await read()).status, 200);
    t.is(database.later, null);
    t.is((await send('POST', '/v0/devices', { token, body })).status, 201);
  });

  test(`${kind}: a session from before reads on, nobody signs in, and a page says why`, async (t) => {
    const opened = await begin(t, kind);
    const { place, database } = opened;
    await addPerson(database, 'ann@example.com', { role: 'admin' });
    const [before, fresh] = [new Visitor(opened), new Visitor(opened)];
    const form = { email: 'ann@example.com', password: PASSWORD };
    await before.get('/auth/identity');
    await before.post('/auth/identity/callback', form);
    await database.sequelize.query("UPDATE sessions SET inserted_at = '2026-01-01 00:00:00.000'");
    const later = await migrateLater(t, place);
    await currentRevision(database);
    t.is((await before.get('/users')).status, 200);
    await fresh.get('/auth/identity');
    const refused = await fresh.post('/auth/identity/callback', form);
    t.is(refused.status, 503);
    t.regex(refused.text, /waits for its upgrade/);
    await before.get('/rules/new');
    const rule = { destination: '10.0.0.0/8', action: 'accept' };
    t.is((await before.post('/rules/new', rule)).status, 503);
    t.is(await later.models.Rule.count(), 0);
    t.is(await later.models.Session.count(), 1);
    await later.sequelize.query("UPDATE sessions SET inserted_at = '2036-01-01 00:00:00.000'");
    t.is((await before.get('/users')).status, 503);
  });
}
