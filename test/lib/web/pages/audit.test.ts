// The audit trail in the console: filtered, in pages, with its values as text.

import test from 'ava';
import { shownKinds } from '../../../../lib/kit/records/audit-names.ts';
import { actAs, auditActions, noteAction } from '../../../../models/index.ts';
import { addUser, deviceValues, write } from '../../../models/fixtures.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';

for (const kind of firstKind()) {
  test(`${kind}: only administrators can read the audit trail`, async (t) => {
    await checkGuard(t, await openConsole(t, kind), { pages: ['/audit'] });
  });

  test(`${kind}: entries are filtered by user, action, record and time`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    await admin.get(`/users/${plainUser.id}`);
    await admin.post(`/users/${plainUser.id}/edit`, { email: 'moved@example.com', role: 'admin' });
    const count = async (query: string): Promise<number> =>
      (await admin.get(`/audit?${query}`)).text.match(/class="entry"/g)?.length ?? 0;
    const today = new Date().toISOString().slice(0, 10);
    t.is(await count(`record=${plainUser.id.toUpperCase()}&action=update`), 1);
    t.is(await count(`record=${plainUser.id}&action=update&who=BOSS%40example.com`), 1);
    t.is(await count(`record=${plainUser.id}&who=nobody`), 0);
    t.is(await count('kind=rule'), 0);
    t.true((await count(`since=${today}&until=${today}`)) > 0);
    t.is(await count('until=2020-01-01'), 0);
    const bad = await admin.get('/audit?since=2026-02-30&until=x');
    t.is(bad.status, 200);
    t.is(bad.text.match(/is not a day such as 2026-11-21/g)?.length, 3, 'at each, and in view');
    const { text } = await admin.get(`/audit?record=${plainUser.id}&action=update`);
    t.true(text.includes('<del>user@example.com</del>'));
    t.true(text.includes('<ins>moved@example.com</ins>'));
    // Of several requests, because entries that are alike are one line.
    const owner = await addUser(database);
    for (let i = 0; i < 60; i += 1)
      await write(database, (transaction) => {
        actAs(transaction, { actor: 'gateway', requestId: `r${i}` });
        return database.models.Device.create(deviceValues(owner.id), { transaction });
      });
    const first = await admin.get('/audit');
    t.is(first.text.match(/class="entry"/g)?.length, 50);
    const [, next = ''] = /rel="next" href="([^"]+)"/.exec(first.text) ?? [];
    const second = await admin.get(next.replaceAll('&amp;', '&'));
    t.true((second.text.match(/class="entry"/g)?.length ?? 0) > 10);
    t.true(second.text.includes('rel="prev" href="/audit?"'));
    for (const query of ['before=x', 'who=a&who=b', 'kind=%00', 'since=%3Cscript%3E'])
      t.is((await admin.get(`/audit?${query}`)).status, 200, query);
  });

  test(`${kind}: of a list the members that came and went are shown`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const { Configuration } = database.models;
    for (const dns of [['10.0.0.1', '10.0.0.2'], ['10.0.0.2', '10.0.0.3'], ['10.0.0.2']])
      await write(database, async (transaction) => {
        const row = await Configuration.findOne({ transaction, rejectOnEmpty: true });
        await row.update({ default_client_dns: dns }, { transaction });
      });
    const { text } = await admin.get('/audit?kind=configuration&action=update');
    t.true(text.includes('removed: </span><del>10.0.0.1</del>'));
    t.true(text.includes('added: </span><ins>10.0.0.3</ins>'));
    t.true(text.includes('removed: </span><del>10.0.0.3</del>'));
    t.false(text.includes('<ins></ins>'), 'where nothing came, nothing is shown');
  });

  test(`${kind}: each kind and action is offered, and a group leads to its page`, async (t) => {
    const { admin, send } = await openConsole(t, kind);
    const body = { group: { name: 'staff' } };
    const { id } = (await send('POST', '/v0/groups', { body })).body.data as { id: string };
    const { text } = await admin.get('/audit?kind=group');
    t.is(text.match(/class="entry"/g)?.length, 1);
    t.true(text.includes(`href="/users/groups/${id}"`));
    t.is((await admin.get(`/users/groups/${id}`)).status, 200);
    for (const word of [...shownKinds, ...auditActions])
      t.regex(text, new RegExp(`<option value="${word}"`), word);
    for (const word of ['group_membership', 'recovery_code', 'recovery_codes', 'end capture'])
      t.true(text.includes(`<option value="${word}"`), word);
  });

  test(`${kind}: what one request does to many is one line, which holds every entry`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const user = await addUser(database, { email: 'owner@example.com' });
    await write(database, async (transaction) => {
      actAs(transaction, { actor: 'gateway', requestId: 'one' });
      for (const name of ['tv', 'phone', 'tablet']) {
        await database.models.Device.create({ ...deviceValues(user.id), name }, { transaction });
        noteAction(transaction, { action: 'unlock', kind: 'user', recordId: name });
      }
      actAs(transaction, { actor: 'gateway', requestId: 'two' });
      const values = { ...deviceValues(user.id), name: 'laptop' };
      await database.models.Device.create(values, { transaction });
    });
    const { text } = await admin.get('/audit?kind=device');
    t.true(text.includes('added 3 devices'));
    for (const name of ['tv', 'phone', 'tablet', 'laptop'])
      t.true(text.includes(`added device “${name}” for owner@example.com`), name);
    t.is(text.match(/class="entry"/g)?.length, 5, 'four entries, and the line of three');
    t.is(text.match(/<section>/g)?.length, 1, 'a day');
    const all = (await admin.get('/audit')).text;
    t.true(all.includes('added 3 devices'), 'also where other entries are between them');
    t.true(all.includes('ended the wait of 3 users'));
  });

  test(`${kind}: all that a filter finds is a file, without formulas`, async (t) => {
    const { admin, user, database, send } = await openConsole(t, kind);
    const body = { group: { name: '=1+1' } };
    t.is((await send('POST', '/v0/groups', { body })).status, 201);
    await write(database, async (transaction) => {
      for (let i = 0; i < 600; i += 1)
        noteAction(transaction, { action: 'unlock', kind: 'user', recordId: `u${i}` });
    });
    const csv = await admin.get('/audit.csv?kind=group');
    t.is(csv.headers['content-disposition'], 'attachment; filename="audit.csv"');
    const [head, line, ...rest] = csv.text.split('\r\n');
    t.true(head?.startsWith('id,happened_at,actor,email,token_name,action,kind,record_id'));
    t.true(line?.includes(",'=1+1,"), line);
    t.deepEqual(rest, ['']);
    const json = JSON.parse((await admin.get('/audit.json?action=unlock')).text) as object[];
    t.is(json.length, 600);
    t.like(json[0], { kind: 'user', record_id: 'u599', record_name: null, token_name: null });
    t.deepEqual(JSON.parse((await admin.get('/audit.json?who=nobody')).text), []);
    for (const path of ['/audit.csv', '/audit.json']) t.is((await user.get(path)).status, 403);
  });

  test(`${kind}: values of entries and of filters are shown as text`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const user = await addUser(database, { email: `${NASTY}@x` });
    await write(database, (transaction) => user.update({ email: `${NASTY}2@x` }, { transaction }));
    const { Configuration } = database.models;
    await write(database, async (transaction) => {
      const row = await Configuration.findOne({ transaction, rejectOnEmpty: true });
      const provider = { id: 'x', label: NASTY, client_secret: 'a secret of theirs' } as never;
      await row.update({ openid_connect_providers: [provider] }, { transaction });
    });
    const page = await admin.get('/audit');
    checkText(t, page, 'the log');
    t.false(page.text.includes('a secret of theirs'));
    const query = new URLSearchParams({ who: NASTY, kind: NASTY, action: NASTY, record: NASTY });
    checkText(t, await admin.get(`/audit?${query.toString()}`), 'the filters');
  });
}
