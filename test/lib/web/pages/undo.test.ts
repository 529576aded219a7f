// Undo: what one session did last is given back once, for ten minutes, to that session alone.

import test from 'ava';
import { readDevices, readUsers, writeTransaction } from '../../../../models/index.ts';
import { UNDO_MS } from '../../../../lib/domain/undo/undo.ts';
import { addDevice, addRule } from '../../../models/fixtures.ts';
import { checkGuard, openConsole } from '../../../support/web/console.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { addPerson, type Shown, Visitor } from '../../../support/web/visitor.ts';

const NOBODY = '00000000-0000-4000-8000-000000000000';
const TCP = { protocol: 'tcp', port: 443 };
const OFFER = /action="(\/undo[a-z_]*\/[0-9a-f-]{36})"/;

/** Sends a form, and returns what the next page offers to undo; null: nothing. */
async function send(
  visitor: Visitor,
  path: string,
  fields: Record<string, string>,
): Promise<string | null> {
  const { location, text } = await visitor.post(path, fields);
  if (location === null) throw new Error(text);
  return OFFER.exec((await visitor.get(location)).text)?.[1] ?? null;
}

/** Undoes, and returns the page that says so. */
async function undo(visitor: Visitor, path: string | null, back = '/devices'): Promise<Shown> {
  const { location } = await visitor.post(path ?? '/undo/none', { back });
  return visitor.get(String(location));
}

for (const kind of databaseKinds()) {
  test(`${kind}: each device gets its own earlier values, once`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const [off, on] = [await addDevice(database, plainUser), await addDevice(database, plainUser)];
    const since = new Date('2026-01-02T03:04:05.678Z');
    await writeTransaction(database, async (transaction) => {
      const row = await database.models.Device.findByPk(off.id, { transaction, lock: true });
      await row?.update({ disabled_at: since, expires_at: new Date(1e12) }, { transaction });
    });
    await admin.get('/devices');
    const ends = { do: 'expire', expires_at: '2031-05-06T07:08', sure: 'true' };
    const { location } = await admin.postPairs('/devices/many', [
      ...Object.entries(ends),
      ['id', off.id],
      ['id', on.id],
    ]);
    const page = await admin.get(String(location));
    const path = OFFER.exec(page.text)?.[1] ?? null;
    t.regex(page.text, /connections that ended do not come back/);
    t.regex((await undo(admin, path)).text, /Undone: 2 records are as before\./);
    const values = async () =>
      new Map(
        (await readDevices(database)).map((row) => [row.id, [row.disabled_at, row.expires_at]]),
      );
    t.deepEqual((await values()).get(off.id), [since, new Date(1e12)]);
    t.deepEqual((await values()).get(on.id), [null, null]);
    const entries = await database.models.AuditEntry.count({ where: { record_id: on.id } });
    t.is(entries, 3, 'made, changed, given back');
    const switched = await send(admin, '/devices/many', { do: 'on', id: off.id });
    t.notRegex((await admin.get('/devices')).text, OFFER, 'the page after it offers nothing');
    t.regex((await undo(admin, path)).text, /Nothing is undone: it is too long ago, or/);
    await undo(admin, switched);
    t.deepEqual((await values()).get(off.id), [since, new Date(1e12)], 'off since the same time');
    t.regex((await undo(admin, switched)).text, /Nothing is undone/, 'once');
  });

  test(`${kind}: nobody else undoes it, nor the same person later`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, adminUser, database, plainUser } = console;
    const { id } = await addDevice(database, plainUser);
    await checkGuard(t, console, { forms: [`/undo/${NOBODY}`, `/undo_disabled/${NOBODY}`] });
    await addPerson(database, 'other@example.com', { role: 'admin' });
    const [other, again] = [new Visitor(console), new Visitor(console)];
    await other.signIn('other@example.com');
    await again.signIn(adminUser.email);
    for (const visitor of [other, again, admin]) await visitor.get('/devices');
    const isOff = async () => (await readDevices(database))[0]?.disabled_at !== null;
    const path = await send(admin, '/devices/many', { do: 'off', id, sure: 'true' });
    for (const visitor of [other, again])
      t.regex((await undo(visitor, path)).text, /Nothing is undone/);
    const { Undo } = database.models;
    await Undo.update({ inserted_at: new Date(Date.now() - UNDO_MS - 1) }, { where: {} });
    t.regex((await undo(admin, path)).text, /Nothing is undone/, 'too late');
    await Undo.update({ inserted_at: new Date() }, { where: {} });
    t.true(await isOff());
    await send(other, `/users/${adminUser.id}/edit`, {
      email: adminUser.email,
      role: 'unprivileged',
    });
    await admin.post(path ?? '', { back: '/devices' });
    t.true(await isOff(), 'no administrator any more');
  });

  test(`${kind}: what was changed or deleted since stays as it is, and is named`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const made = [];
    for (const name of ['kept', 'changed', 'deleted'])
      made.push(await addDevice(database, plainUser, { name }));
    const [kept, changed, deleted] = made.map(({ id }) => id) as [string, string, string];
    await admin.get('/devices');
    const { location } = await admin.postPairs('/devices/many', [
      ['do', 'off'],
      ['sure', 'true'],
      ...made.map(({ id }) => ['id', id] as const),
    ]);
    const path = OFFER.exec((await admin.get(String(location))).text)?.[1] ?? null;
    await send(admin, '/devices/many', { do: 'on', id: changed });
    await send(admin, '/devices/many', { do: 'off', id: changed, sure: 'true' });
    await admin.post('/devices/many', { do: 'remove', sure: 'true', id: deleted });
    const { text } = await undo(admin, path);
    t.regex(text, /Undone: 1 record is as before\./);
    t.regex(text, /changed \(it was changed since\)/);
    t.regex(text, /the device \(it is deleted\)/);
    const rows = new Map((await readDevices(database)).map((row) => [row.id, row.disabled_at]));
    t.is(rows.get(kept), null);
    t.not(rows.get(changed), null);
  });

  test(`${kind}: users are disabled again, and enabled again after a recent sign-in alone`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const { id } = plainUser;
    await admin.get('/users');
    const isOff = async () => (await readUsers(database, { ids: [id] }))[0]?.disabled_at !== null;
    const path = await send(admin, '/users/many', { do: 'disable', sure: 'true', id });
    t.true(path?.startsWith('/undo_disabled/'));
    const free = path?.replace('/undo_disabled', '/undo') ?? '';
    t.regex((await undo(admin, free)).text, /Nothing is undone/, 'not by the other path');
    t.true(await isOff());
    await undo(admin, path, '/users');
    t.false(await isOff());
    await send(admin, '/users/many', { do: 'disable', sure: 'true', id });
    const enabled = await send(admin, '/users/many_enabled', { do: 'enable', id });
    t.true(enabled?.startsWith('/undo/'));
    await undo(admin, enabled, '/users');
    t.true(await isOff());
  });

  test(`${kind}: rules and members come back unless a policy test fails, and nothing else does`, async (t) => {
    const { admin, database, plainUser, send: call } = await openConsole(t, kind);
    const { id } = await addRule(database, { destination: '10.0.0.0/8', action: 'drop' });
    await admin.get('/rules');
    const typed = { action: 'drop', destination: '10.0.0.0/8', port_type: '', port_range: '' };
    const rule = async () => database.models.Rule.findByPk(id);
    const form = { ...typed, enabled: 'true', user_id: '', group_id: '', description: '' };
    const path = await send(admin, `/rules/${id}`, { ...form, staged: 'true' });
    t.false((await rule())?.enforced);
    await undo(admin, path, '/rules');
    t.true((await rule())?.enforced);
    t.is(await send(admin, `/rules/${id}`, { ...form, description: 'x', staged: 'true' }), null);

    await send(admin, `/rules/${id}`, { ...form, description: 'x' });
    const off = await send(admin, `/rules/${id}`, { ...form, description: 'x', enabled: '' });
    const policy_test = {
      name: 'no',
      ...TCP,
      user_id: plainUser.id,
      destination: '10.1.1.1',
      expect: 'accept',
    };
    t.is((await call('POST', '/v0/policy_tests', { body: { policy_test } })).status, 201);
    t.regex((await undo(admin, off, '/rules')).text, /10\.0\.0\.0\/8 \(it would be refused now\)/);
    t.false((await rule())?.enabled);

    await admin.post('/users/groups/new', { name: 'Engineering' });
    const group = await database.models.Group.findOne({ where: { name: 'Engineering' } });
    const members = () => database.models.GroupMembership.count();
    const here = `/users/groups/${group?.id}`;
    const added = await send(admin, `${here}/members`, { add: plainUser.email });
    t.is(await members(), 1);
    t.regex((await undo(admin, added, here)).text, /1 record is as before/);
    t.is(await members(), 0);
    await send(admin, `${here}/members`, { add: plainUser.email });
    const removed = await send(admin, `${here}/remove_member`, { user: plainUser.id });
    t.is(await members(), 0);
    await undo(admin, removed, here);
    t.is(await members(), 1);

    for (const [where, fields] of [
      [`/users/${plainUser.id}/edit`, { email: plainUser.email, role: 'admin' }],
      ['/users/new', { email: 'new@example.com', role: 'unprivileged' }],
      ['/users/many', { do: 'remove', sure: 'true', id: plainUser.id }],
    ] as const)
      t.is(await send(admin, where, { ...fields }), null, where);
  });
}
