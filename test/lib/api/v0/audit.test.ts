// The audit trail over the API: what is answered of an entry, filters, pages, and what is refused.

import test from 'ava';
import { actAs, COMMAND_LINE, noteAction, writeTransaction } from '../../../../models/index.ts';
import { oneOf, sentenceOf } from '../../../../lib/kit/validation/messages.ts';
import { kindWords } from '../../../../lib/kit/records/audit-names.ts';
import { ADMIN_EMAIL, openServer } from '../../../support/api/server.ts';
import { databaseKinds } from '../../../support/database/databases.ts';

const AUDIT = '/v0/audit';

for (const kind of databaseKinds()) {
  test(`${kind}: an entry says who did what to which record, and hides secrets`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    const device = { user_id: adminId, public_key: Buffer.alloc(32, 9).toString('base64') };
    const { id } = (await send('POST', '/v0/devices', { body: { device } })).body.data;
    const patch = {
      device: { name: 'laptop', preshared_key: Buffer.alloc(32, 7).toString('base64') },
    };
    const patched = await send('PATCH', `/v0/devices/${id}`, { body: patch });
    const { status, body } = await send('GET', `${AUDIT}?record_id=${id.toUpperCase()}`);
    t.is(status, 200);
    const [entry, ...others] = body.data;
    t.deepEqual(
      others.map(({ action }: { action: string }) => action),
      ['create'],
    );
    const { happened_at, token_id, address, changes, ...rest } = entry;
    t.deepEqual(rest, {
      id: rest.id,
      actor: 'user',
      user_id: adminId,
      email: ADMIN_EMAIL,
      action: 'update',
      kind: 'device',
      record_id: id,
      request_id: patched.headers['x-request-id'],
    });
    t.regex(happened_at, /^2\d{3}-.*\.\d{3}000Z$/);
    t.truthy(token_id);
    t.truthy(address);
    t.deepEqual(changes.preshared_key, { changed: true });
    t.is(changes.name.to, 'laptop');
  });

  test(`${kind}: entries are filtered, and come in pages of which none repeats one`, async (t) => {
    const { send } = await openServer(t, kind);
    const rules: string[] = [];
    for (let i = 0; i < 5; i++) {
      const rule = { destination: `10.0.0.${i}` };
      rules.push((await send('POST', '/v0/rules', { body: { rule } })).body.data.id);
    }
    await send('DELETE', `/v0/rules/${rules[0]}`);
    const since = new Date(Date.now() - 60_000).toISOString();
    const query = `kind=rule&action=create&who=${ADMIN_EMAIL.toUpperCase()}&since=${since}`;
    const found: string[] = [];
    let path: string | null = `${AUDIT}?${query}&limit=2`;
    let pages = 0;
    while (path !== null) {
      const { body, headers } = await send('GET', path);
      found.push(...body.data.map(({ record_id }: { record_id: string }) => record_id));
      path = /^<([^>]+)>; rel="next"$/.exec(String(headers['link'] ?? ''))?.[1] ?? null;
      pages += 1;
    }
    t.deepEqual(found, rules.toReversed(), 'the newest first');
    t.is(pages, 3);
    for (const nothing of [`until=${since}`, 'who=nobody', 'record_id=x', 'kind=saml_metadata'])
      t.deepEqual((await send('GET', `${AUDIT}?${nothing}`)).body, { data: [] }, nothing);
    for (const unknown of ['kind=Rule', 'action=x']) {
      const { status, body } = await send('GET', `${AUDIT}?${unknown}`);
      t.is(status, 422, unknown);
      const [said] = body.errors[unknown.replace(/=.*/, '')];
      t.regex(said, /^should be one of the words that \/v0\/openapi\.json lists, such as /);
    }
    t.true((await send('GET', AUDIT)).body.data.length > 5);
  });

  test(`${kind}: an entry has the names and values that the API has`, async (t) => {
    const { send, adminId, database } = await openServer(t, kind);
    const api_token = { name: 'ci', scopes: ['read', 'capture'] };
    const made = (await send('POST', '/v0/api_tokens', { body: { api_token } })).body.data;
    for (const query of ['kind=api_token', 'kind=token']) {
      const { data } = (await send('GET', `${AUDIT}?${query}&record_id=${made.id}`)).body;
      t.is(data[0].kind, 'api_token');
      t.deepEqual(data[0].changes.scopes, { to: api_token.scopes });
      t.deepEqual(data[0].changes.expires_at, { to: made.expires_at });
    }
    const device = {
      user_id: adminId,
      public_key: Buffer.alloc(32, 9).toString('base64'),
      ends_at: '2030-01-01T00:00:00Z',
      enabled: false,
    };
    const { id, ends_at } = (await send('POST', '/v0/devices', { body: { device } })).body.data;
    const [{ changes }] = (await send('GET', `${AUDIT}?record_id=${id}`)).body.data;
    t.deepEqual(changes.ends_at, { to: ends_at });
    t.deepEqual(changes.enabled, { to: false });
    t.is(changes.expires_at, undefined);
    await writeTransaction(database, async (transaction) => {
      actAs(transaction, COMMAND_LINE);
      noteAction(transaction, { action: 'sign out', kind: 'user', recordId: adminId });
    });
    for (const who of ['command_line', 'command%20line']) {
      const { data } = (await send('GET', `${AUDIT}?who=${who}`)).body;
      t.is(data.length, 1, who);
      t.is(data[0].actor, 'command_line');
    }
  });

  test(`${kind}: what cannot be read is refused by name`, async (t) => {
    const { send } = await openServer(t, kind);
    const bad = ['is not a time such as 2026-11-25T10:00:00Z'];
    const { status, body } = await send(
      'GET',
      `${AUDIT}?since=noon&until=&limit=0&cursor=x&kind=a&kind=b`,
    );
    t.is(status, 422);
    t.deepEqual(body.errors, {
      since: bad,
      until: ['is invalid'],
      limit: ['must be greater than or equal to 1'],
      cursor: ['is invalid'],
      kind: [sentenceOf(oneOf(kindWords))],
    });
    t.is((await send('GET', AUDIT, { token: null })).status, 401);
  });
}
