// One user: changed by the rules of the API, disabled, deleted. The last administrator is kept.

import test from 'ava';
import { ATTEMPTS_MAX, countedOf, readWaits, takeAttempt } from '../../../../lib/auth/attempts.ts';
import { addSecondFactor } from '../../../../lib/auth/second-factors.ts';
import { readAuditEntries, writeTransaction } from '../../../../models/index.ts';
import { addDevice, addToken } from '../../../models/fixtures.ts';
import { checkGuard, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { addPerson, personOf, Visitor } from '../../../support/web/visitor.ts';

for (const kind of firstKind()) {
  test(`${kind}: only administrators can see and change a user`, async (t) => {
    const console = await openConsole(t, kind);
    const here = `/users/${console.plainUser.id}`;
    const forms = ['/edit', '/enable', '/unlock', '/disable', '/reset_second_factors', '/delete'];
    forms.push('/left', '/sessions/end');
    const pages = ['', '/traffic', '/sign_in', '/edit'].map((page) => here + page);
    await checkGuard(t, console, { pages, forms: forms.map((form) => here + form) });
    const { disabled_at, email } = await personOf(console.database, 'user@example.com');
    t.deepEqual([disabled_at, email], [null, 'user@example.com']);
    for (const id of ['x', '00000000-0000-0000-0000-000000000000', '%00'])
      for (const form of forms) {
        const path = `/users/${id}${form}`;
        t.is((await console.admin.post(path)).status, 404, path);
      }
    for (const page of ['', '/traffic', '/sign_in', '/edit'])
      t.is((await console.admin.get(`/users/x${page}`)).status, 404, page);
  });

  test(`${kind}: a user is changed and promoted, and errors are shown at their fields`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const here = `/users/${plainUser.id}`;
    const form = await admin.get(`${here}/edit`);
    t.true(form.text.includes(`<a href="${here}/edit" aria-current="page">Settings</a>`));
    const changed = await admin.post(`${here}/edit`, { email: 'else@example.com', role: 'admin' });
    t.is(changed.location, here, changed.text);
    const user = await personOf(database, 'else@example.com');
    t.is(user.role, 'admin');
    t.is(user.password_hash, plainUser.password_hash, 'left empty, it stays');
    const refused = await admin.post(`${here}/edit`, { email: 'boss@example.com', role: 'admin' });
    t.is(refused.status, 422);
    t.true(refused.text.includes('This is already in use'));
    t.true(refused.text.includes('value="boss@example.com"'));
    t.true(refused.text.includes(`<a href="${here}/edit" aria-current="page">Settings</a>`));
    const old = await admin.get(`${here}?range=14d`);
    t.is(old.location, `${here}/traffic?range=14d`, 'the traffic was there once');
  });

  test(`${kind}: the provider that made an administrator is named`, async (t) => {
    const { admin, database, adminUser } = await openConsole(t, kind);
    const { id } = await addPerson(database, 'ann@example.com', {
      role: 'admin',
      role_provider: 'oidc/okta',
    });
    t.regex((await admin.get('/users')).text, /<small class=below>Administrator, by okta</);
    t.regex((await admin.get(`/users/${id}`)).text, /<li>Administrator, by okta</);
    t.regex((await admin.get(`/users/${adminUser.id}`)).text, /<li>Administrator</);
  });

  test(`${kind}: nobody can change their own role, whatever they send`, async (t) => {
    const { admin, database, adminUser } = await openConsole(t, kind);
    const here = `/users/${adminUser.id}`;
    const page = await admin.get(`${here}/edit`);
    t.true(page.text.includes('You cannot change your own role.'));
    t.regex(page.text, /<select[^>]*name="role"[^>]* disabled/);
    await admin.post(`${here}/edit`, { email: 'boss@example.com', role: 'unprivileged' });
    t.is((await personOf(database, 'boss@example.com')).role, 'admin');
    await admin.post(`${here}/disable`);
    const after = await admin.get(here);
    t.true(after.text.includes('You cannot disable yourself.'));
    t.is((await personOf(database, 'boss@example.com')).disabled_at, null);
  });

  test(`${kind}: a wait after wrong passwords is shown, and can be ended`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const here = `/users/${plainUser.id}`;
    const before = await admin.get(here);
    t.false(before.text.includes('End the wait'));
    const lock = async (): Promise<void> => {
      const wrong = countedOf(plainUser).slice(0, 1);
      for (let n = 0; n < ATTEMPTS_MAX; n += 1) await takeAttempt(database, wrong);
    };
    await lock();
    const page = await admin.get(here);
    t.regex(page.text, /Locked until[^]*for 15 minutes/);
    t.regex((await admin.get('/users')).text, /Locked[^]*for 15 minutes/);
    const ended = await admin.post(`${here}/unlock`);
    t.is(ended.location, here, ended.text);
    t.is((await readWaits(database, [plainUser])).size, 0);
    const entries = await readAuditEntries(database, { limit: 9 });
    t.is(entries.filter(({ action }) => action === 'unlock').length, 1);
    await lock();
    const password = 'a new password for them';
    const fields = { email: plainUser.email, role: 'unprivileged', password };
    await admin.post(`${here}/edit`, { ...fields, password_confirmation: password });
    t.is((await readWaits(database, [plainUser])).size, 0, 'a new password ends it too');
  });

  test(`${kind}: a disabled user loses every session at once, and can be enabled again`, async (t) => {
    const { admin, user, database, plainUser } = await openConsole(t, kind);
    const here = `/users/${plainUser.id}`;
    await admin.get(here);
    t.is((await admin.post(`${here}/disable`)).status, 303);
    t.is((await personOf(database, 'user@example.com')).disabled_by, 'administrator');
    t.is((await user.get('/user_account')).status, 302);
    t.true((await admin.get(here)).text.includes('Disabled'));
    t.is((await user.signIn('user@example.com')).status, 401);
    await admin.post(`${here}/enable`);
    t.is((await user.signIn('user@example.com')).status, 303);
  });

  test(`${kind}: if two administrators disable each other at once, one remains enabled`, async (t) => {
    const { admin, server, database, adminUser, adminId } = await openConsole(t, kind);
    const { id } = await addPerson(database, 'other@example.com', { role: 'admin' });
    const other = new Visitor({ server });
    await other.signIn('other@example.com');
    await other.get(`/users/${id}`);
    await admin.get(`/users/${adminId}`);
    // First the administrator of the server is deleted: two are left.
    t.is((await admin.post(`/users/${adminId}/delete`)).location, '/users');
    await Promise.all([
      admin.post(`/users/${id}/disable`),
      other.post(`/users/${adminUser.id}/disable`),
    ]);
    const where = { role: 'admin', disabled_at: null } as const;
    t.is(await database.models.User.count({ where }), 1);
  });

  test(`${kind}: a person who left: everything that lets them in ends with one write`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, user, database, plainUser, adminUser } = console;
    const here = `/users/${plainUser.id}`;
    const device = await addDevice(database, plainUser, { name: 'laptop' });
    const early = new Date('2026-01-01T00:00:00Z');
    const off = await addDevice(database, plainUser, { name: 'old' });
    await writeTransaction(database, (transaction) =>
      off.update({ disabled_at: early }, { transaction }),
    );
    const before = await database.models.ApiToken.count();
    const gone = await addToken(database, plainUser);
    const page = (await admin.get(here)).text;
    t.true(page.includes('1 device, 1 session, 1 API token'), 'the effect is said first');
    t.is((await admin.post(`${here}/left`)).location, here);
    t.regex(
      (await admin.get(here)).text,
      /is disabled\. Switched off: 1 device\. Ended: 1 session/,
    );
    t.is((await user.get('/user_devices')).status, 302, 'signed out');
    t.true((await personOf(database, plainUser.email)).disabled_at !== null);
    t.true((await device.reload()).disabled_at !== null);
    t.is((await off.reload()).disabled_at?.getTime(), early.getTime(), 'the first time stays');
    t.is(await database.models.ApiToken.findByPk(gone.id), null);
    t.is(await database.models.ApiToken.count(), before, 'those of others stay');
    const entries = await readAuditEntries(database, { limit: 50 });
    for (const action of ['sign out', 'update', 'delete'])
      t.true(
        entries.some((entry) => entry.action === action && entry.user_id === adminUser.id),
        action,
      );
    // Again it changes nothing, and nobody does it to themselves.
    t.is((await admin.post(`${here}/left`)).location, here);
    await admin.post(`/users/${adminUser.id}/left`);
    t.is((await personOf(database, adminUser.email)).disabled_at, null);
    t.is(await database.models.ApiToken.count(), before);
    t.false((await admin.get(`/users/${adminUser.id}`)).text.includes('has left'));
  });

  test(`${kind}: an administrator sees where a user is signed in, and ends one or all`, async (t) => {
    const { server, admin, user, database, plainUser, adminUser } = await openConsole(t, kind);
    const here = `/users/${plainUser.id}`;
    const other = new Visitor({ server });
    await other.signIn(plainUser.email);
    const sessions = () =>
      database.models.Session.findAll({ where: { user_id: plainUser.id }, order: [['id', 'ASC']] });
    const [first] = await sessions();
    const text = (await admin.get(`${here}/sign_in`)).text;
    t.is(text.match(/name="session" value="/g)?.length, 2);
    await admin.post(`${here}/sessions/end`, { session: String(first?.id) });
    t.deepEqual((await sessions()).length, 1);
    t.is((await user.get('/user_account')).status, 302);
    // A session of somebody else is not that user's.
    const [own] = await database.models.Session.findAll({ where: { user_id: adminUser.id } });
    await admin.post(`${here}/sessions/end`, { session: String(own?.id) });
    t.is((await admin.get(here)).status, 200);
    await admin.post(`${here}/sessions/end`);
    t.is((await sessions()).length, 0);
    t.is((await other.get('/user_account')).status, 302);
  });

  test(`${kind}: a user is deleted with all that belongs to it; the last administrator is not`, async (t) => {
    const { admin, user, database, plainUser, adminUser, adminId } = await openConsole(t, kind);
    await addDevice(database, plainUser);
    await admin.get('/users');
    const gone = await admin.post(`/users/${plainUser.id}/delete`);
    t.is(gone.location, '/users');
    t.is(await database.models.Device.count(), 0);
    t.is((await user.get('/user_account')).status, 302);
    await admin.post(`/users/${adminId}/delete`);
    await admin.post(`/users/${adminUser.id}/delete`);
    const { text } = await admin.get(`/users/${adminUser.id}`);
    t.true(text.includes('the last administrator cannot be deleted'));
  });

  test(`${kind}: second factors that a user lost are removed, and the audit trail keeps it`, async (t) => {
    const { admin, user, database, plainUser, adminUser } = await openConsole(t, kind);
    const factor = { userId: plainUser.id, name: 'phone', secret: 'A'.repeat(32), step: 0 };
    await writeTransaction(database, (transaction) =>
      addSecondFactor(database, factor, transaction),
    );
    const here = `/users/${plainUser.id}`;
    t.true((await admin.get(here)).text.includes('Reset second factors'));
    await admin.post(`${here}/reset_second_factors`);
    t.is(await database.models.SecondFactor.count(), 0);
    t.is(await database.models.RecoveryCode.count(), 0);
    t.is((await user.get('/user_account')).status, 302);
    const { AuditEntry } = database.models;
    const entry = await AuditEntry.findOne({ where: { kind: 'second factor', action: 'delete' } });
    t.is(entry?.email, adminUser.email);
  });
}
