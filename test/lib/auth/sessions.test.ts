// Sessions: how long they live, what ends them, and that a browser cannot choose the id of one.

import test from 'ava';
import { SESSIONS_MAX, WAITING_MAX } from '../../../lib/auth/sessions.ts';
import { IDLE_MS } from '../../../lib/kit/records/session-life.ts';
import { hashSecret, newSecret } from '../../../lib/auth/browser-cookies.ts';
import { removeUser, type User, writeTransaction } from '../../../models/index.ts';
import { databaseKinds } from '../../support/database/databases.ts';
import { openServer, serverOn, type TestServer } from '../../support/api/server.ts';
import { addPerson, PASSWORD, personOf, Visitor } from '../../support/web/visitor.ts';

const COOKIE = 'postern-session';
const EMAIL = 'ann@example.com';

async function signedIn(server: TestServer): Promise<Visitor> {
  const visitor = new Visitor(server);
  await visitor.signIn(EMAIL);
  return visitor;
}

/** Whether the page of the own account is shown. */
async function isIn(visitor: Visitor): Promise<boolean> {
  return (await visitor.get('/user_account')).status === 200;
}

async function change(server: TestServer, values: Partial<User>): Promise<void> {
  const user = await personOf(server.database, EMAIL);
  await writeTransaction(server.database, async (transaction) => {
    await user.update(values, { transaction });
  });
}

async function age(server: TestServer, ms: number): Promise<void> {
  const seen_at = new Date(Date.now() - ms);
  await server.database.models.Session.update({ seen_at }, { where: {} });
}

for (const kind of databaseKinds()) {
  test(`${kind}: the database holds only the hash of a cookie, not its secret`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server);
    const secret = visitor.cookies.get(COOKIE) ?? '';
    const [row] = await server.database.models.Session.findAll();
    t.is(row?.sha256, hashSecret(secret));
    t.is(row?.address, '127.0.0.1');
    t.false(JSON.stringify(row).includes(hashSecret(secret)));
  });

  test(`${kind}: eight hours without use end a session, to the minute, and use prolongs it`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server);
    await age(server, IDLE_MS - 5_000);
    t.true(await isIn(visitor));
    // The time of use is written after the answer.
    for (let n = 0; n < 100; n += 1) {
      const [row] = await server.database.models.Session.findAll();
      if (Date.now() - (row?.seen_at.getTime() ?? 0) < 60_000) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    t.true(await isIn(visitor));
    await age(server, IDLE_MS);
    t.false(await isIn(visitor));
  });

  test(`${kind}: a change that takes rights away ends sessions at once, in every process`, async (t) => {
    const server = await openServer(t, kind);
    const elsewhere = await serverOn(server.database);
    await addPerson(server.database, EMAIL);
    const ends: [string, () => Promise<unknown>][] = [
      ['role', () => change(elsewhere, { role: 'admin' })],
      ['password', () => change(elsewhere, { password_hash: 'x' })],
      ['disabled', () => change(elsewhere, { disabled_at: new Date(), disabled_by: 'provider' })],
      [
        'deleted',
        async () => {
          const { id } = await personOf(server.database, EMAIL);
          await writeTransaction(server.database, (transaction) =>
            removeUser(server.database, id, transaction),
          );
        },
      ],
    ];
    const good = (await personOf(server.database, EMAIL)).password_hash;
    for (const [why, end] of ends) {
      await change(server, { password_hash: good, disabled_at: null, disabled_by: null });
      const visitor = await signedIn(server);
      t.true(await isIn(visitor), why);
      await end();
      t.false(await isIn(visitor), why);
      t.is(await server.database.models.Session.count(), 0, why);
    }
  });

  test(`${kind}: a session of one gateway works at every other one, and ends at all together`, async (t) => {
    const server = await openServer(t, kind);
    const elsewhere = await serverOn(server.database);
    await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server);
    const there = new Visitor(elsewhere);
    there.cookies.set(COOKIE, visitor.cookies.get(COOKIE) ?? '');
    t.true(await isIn(there));
    t.is((await there.post('/sign_out')).status, 303, 'with the form of this one');
    t.false(await isIn(visitor));
  });

  test(`${kind}: other changes of a user leave the sessions alone`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server);
    await change(server, { last_signed_in_at: new Date() });
    await change(server, { role: 'unprivileged' });
    t.true(await isIn(visitor));
  });

  test(`${kind}: a user has at most ${SESSIONS_MAX} sessions, and a new one replaces the longest idle one`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const first = await signedIn(server);
    await age(server, 120_000);
    for (let n = 0; n < SESSIONS_MAX; n += 1) await signedIn(server);
    t.is(await server.database.models.Session.count(), SESSIONS_MAX);
    t.false(await isIn(first));
  });

  test(`${kind}: sessions of a clock that was far ahead take nobody's place`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    for (let n = 0; n < SESSIONS_MAX; n += 1) await signedIn(server);
    const seen_at = new Date(Date.now() + 730 * 86_400_000);
    await server.database.models.Session.update({ seen_at }, { where: {} });
    const present = [await signedIn(server), await signedIn(server)];
    for (const visitor of present) t.true(await isIn(visitor));
    t.is(await server.database.models.Session.count(), SESSIONS_MAX);
  });

  test(`${kind}: sign-ins that wait for a second factor end no open session`, async (t) => {
    const server = await openServer(t, kind);
    const { id } = await addPerson(server.database, EMAIL);
    const { SecondFactor, Session } = server.database.models;
    const owner = await signedIn(server);
    const factor = { user_id: id, name: 'phone', secret: 'JBSWY3DPEHPK3PXP', last_step: 0 };
    await SecondFactor.create({ ...factor, inserted_at: new Date() });
    await age(server, 120_000);
    for (let n = 0; n < SESSIONS_MAX + 1; n += 1) await signedIn(server);
    t.true(await isIn(owner), 'who knows only the password ends nothing');
    t.is(await Session.count({ where: { state: 'second factor' } }), WAITING_MAX);
  });

  test(`${kind}: the id that a browser had before signing in opens nothing`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const fixed = newSecret();
    const visitor = new Visitor(server);
    visitor.cookies.set(COOKIE, fixed);
    await visitor.signIn(EMAIL);
    const after = visitor.cookies.get(COOKIE);
    t.not(after, fixed);
    const attacker = new Visitor(server);
    attacker.cookies.set(COOKIE, fixed);
    t.false(await isIn(attacker));
    t.true(await isIn(visitor));
  });

  test(`${kind}: signing in again ends the session before`, async (t) => {
    const server = await openServer(t, kind);
    await addPerson(server.database, EMAIL);
    const visitor = await signedIn(server);
    const stolen = new Visitor(server);
    stolen.cookies.set(COOKIE, visitor.cookies.get(COOKIE) ?? '');
    await visitor.get('/user_account');
    const form = { email: EMAIL, password: PASSWORD };
    t.is((await visitor.post('/auth/identity/callback', form)).status, 303);
    t.true(await isIn(visitor));
    t.false(await isIn(stolen));
  });
}
