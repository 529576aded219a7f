// API tokens in the console: shown once, revoked on a click. The audit trail keeps who made them.

import test from 'ava';
import { createToken } from '../../../../lib/auth/tokens.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';

for (const kind of firstKind()) {
  test(`${kind}: only administrators can see, create and revoke tokens`, async (t) => {
    const console = await openConsole(t, kind);
    const { database, admin } = console;
    await createToken(database, { email: 'user@example.com', name: 'theirs' });
    await checkGuard(t, console, {
      pages: ['/api_tokens', '/api_tokens/new'],
      forms: ['/api_tokens/new', '/api_tokens/many'],
    });
    for (const id of ['x', '00000000-0000-0000-0000-000000000000'])
      t.is((await admin.post('/api_tokens/many', { do: 'revoke', sure: 'true', id })).status, 303);
    t.is(await database.models.ApiToken.count(), 2);
  });

  test(`${kind}: a token is shown once, works for its owner, and no longer works when it is revoked`, async (t) => {
    const { admin, send, database, adminUser } = await openConsole(t, kind);
    await admin.get('/api_tokens/new');
    const made = await admin.post('/api_tokens/new', {
      admin: 'true',
      name: ' backup ',
      days: '30',
    });
    t.is(made.status, 200);
    t.is(made.headers['cache-control'], 'no-store');
    const [, token = ''] = /value="(pst_[\w-]{43})"/.exec(made.text) ?? [];
    t.is((await send('GET', '/v0/users', { token })).status, 200);
    const row = await database.models.ApiToken.findOne({ where: { name: 'backup' } });
    t.is(row?.user_id, adminUser.id);
    const list = await admin.get('/api_tokens');
    t.false(list.text.includes(token));
    t.true(list.text.includes('backup'));
    const revocation = { do: 'revoke', id: String(row?.id) };
    const asked = await admin.post('/api_tokens/many', revocation);
    t.true(asked.text.includes(`backup of ${adminUser.email}`));
    t.is((await send('GET', '/v0/users', { token })).status, 200, 'it is asked first');
    const sure = { ...revocation, sure: 'true' };
    t.is((await admin.post('/api_tokens/many', sure)).location, '/api_tokens');
    t.is((await send('GET', '/v0/users', { token })).status, 401);
    const { AuditEntry } = database.models;
    const entries = await AuditEntry.findAll({ where: { record_id: String(row?.id) } });
    t.deepEqual(
      entries.map(({ action, email }) => [action, email]),
      [
        ['create', adminUser.email],
        ['delete', adminUser.email],
      ],
    );
  });

  test(`${kind}: the form asks what a token is for, and wants at least one answer`, async (t) => {
    const { admin, send } = await openConsole(t, kind);
    t.regex((await admin.get('/api_tokens/new')).text, /name="admin"[^>]* checked/);
    const nothing = await admin.post('/api_tokens/new', { name: 'grafana', days: '30' });
    t.is(nothing.status, 422);
    t.regex(nothing.text, /choose at least one/i);
    const fields = { name: 'grafana', days: '30', read: 'true', capture: 'true' };
    const { text } = await admin.post('/api_tokens/new', fields);
    const [, token = ''] = /value="(pst_[\w-]{43})"/.exec(text) ?? [];
    t.is((await send('GET', '/v0/users', { token })).status, 200);
    t.is((await send('DELETE', '/v0/users/nobody@example.com', { token })).status, 403);
    t.regex((await admin.get('/api_tokens')).text, /read, capture/);
  });

  test(`${kind}: tokens can be searched, sorted, counted and downloaded like other tables`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, database } = console;
    for (const name of ['backup', '=cmd|x', 'zabbix'])
      await createToken(database, { email: 'user@example.com', name });
    await checkGuard(t, console, { pages: ['/api_tokens.csv'] });
    const { text } = await admin.get('/api_tokens?sort=-name');
    t.regex(text, /4 in all/, 'the server of the test has one too');
    t.true(text.indexOf('zabbix') < text.indexOf('backup'));
    t.regex(text, /aria-sort="descending"/);
    t.regex((await admin.get('/api_tokens?state=over')).text, /No token is found/);
    const file = (await admin.get('/api_tokens.csv?q=user@example.com&sort=name')).text;
    const lines = file.trim().split('\r\n');
    t.is(lines[0], 'id,name,owner,scopes,state,until,last_used_at,made_at');
    t.is(lines.length, 4);
    t.regex(String(lines[1]), /,'=cmd\|x,user@example\.com,admin,in force,\d{4}-/);
  });

  test(`${kind}: an error is shown at its field`, async (t) => {
    const { admin, database, adminUser } = await openConsole(t, kind);
    await admin.get('/api_tokens/new');
    const bad: [fields: Record<string, string>, message: string][] = [
      [{ name: ' ', days: '30' }, 'Please fill this in'],
      [{ name: 'x'.repeat(256), days: '30' }, 'Please use at most 255 characters'],
      [{ name: 'x', days: '0' }, 'should be a whole number from 1 to 365'],
      [{ name: 'x', days: '1e1' }, 'should be a whole number from 1 to 365'],
      [{ name: 'x', days: '366' }, 'should be a whole number from 1 to 365'],
    ];
    for (const [fields, message] of bad) {
      const { status, text } = await admin.post('/api_tokens/new', fields);
      t.is(status, 422, message);
      t.true(text.includes(message), message);
    }
    checkText(
      t,
      await admin.post('/api_tokens/new', { admin: 'true', name: NASTY, days: NASTY }),
      'the form',
    );
    checkText(
      t,
      await admin.post('/api_tokens/new', { admin: 'true', name: NASTY, days: '1' }),
      'the token',
    );
    checkText(t, await admin.get('/api_tokens'), 'the table');
    for (let i = 0; i < 24; i += 1)
      await createToken(database, { email: adminUser.email, name: `${i}` });
    const full = await admin.post('/api_tokens/new', { admin: 'true', name: 'x', days: '1' });
    t.is(full.status, 422);
    t.true(full.text.includes('token limit of 25 reached'));
  });
}
