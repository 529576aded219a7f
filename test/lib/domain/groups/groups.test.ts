// Groups over the API: made, changed, listed and removed with what is theirs; rules for them.

import test from 'ava';
import {
  groupFields,
  GROUPS_MAX,
  readAuditEntries,
  writeTransaction,
} from '../../../../models/index.ts';
import { openServer } from '../../../support/api/server.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { addUser } from '../../../support/database/records.ts';

const GROUPS = '/v0/groups';
const NOBODY = '01a20ad0-0000-7000-8000-000000000001';

test('what a group shows is in the order of its fields', (t) => {
  t.deepEqual(Object.keys(groupFields), [
    'id',
    'name',
    'description',
    'provider',
    'inserted_at',
    'updated_at',
  ]);
});

for (const kind of databaseKinds()) {
  test(`${kind}: names that look alike are one, and none has a character that nobody sees`, async (t) => {
    const { send } = await openServer(t, kind);
    const post = (name: string) => send('POST', GROUPS, { body: { group: { name } } });
    const [composed, decomposed] = ['Caf\u00e9', 'Cafe\u0301'];
    t.is((await post(decomposed)).body.data.name, composed);
    t.deepEqual((await post(composed)).body.errors, { name: ['has already been taken'] });
    const found = await send('GET', `${GROUPS}?name=${encodeURIComponent(decomposed)}`);
    t.is(found.body.data.length, 1);
    const marks = ['\u202e', '\u200b', '\u2028', '\u0007', '\ufeff'];
    const blanks = ['\u3164', '\u2800', '\u115f', '\u034f', '\ufe0f', '\u{e0020}'];
    for (const unseen of [...marks, ...blanks]) {
      const { status, body } = await post(`a${unseen}b`);
      t.is(status, 422);
      t.deepEqual(body.errors, {
        name: ['has a character that cannot be seen; type it without'],
      });
    }
    const uuid = ['is a UUID, which means the group of that id; choose another name'];
    for (const name of [NOBODY, NOBODY.toUpperCase(), ` ${NOBODY} `])
      t.deepEqual((await post(name)).body.errors, { name: uuid });
    const { id } = (await post('first')).body.data;
    const renamed = await send('PATCH', `${GROUPS}/${id}`, { body: { group: { name: NOBODY } } });
    t.deepEqual(renamed.body.errors, { name: uuid });
    t.is((await post(`${NOBODY} `.repeat(2))).status, 201, 'which is no id');
    t.is((await post('Vertrieb 🇨🇭 & Öffentlichkeit')).status, 201);
  });

  test(`${kind}: a group is made, shown, changed, listed and removed`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const made = await send('POST', GROUPS, { body: { group: { name: ' engineers ' } } });
    t.is(made.status, 201);
    const { id, inserted_at, updated_at, ...rest } = made.body.data;
    t.deepEqual(rest, { name: 'engineers', description: null, provider: null });
    t.is(inserted_at, updated_at);
    t.is(made.headers['location'], `${GROUPS}/${id}`);
    t.deepEqual((await send('GET', `${GROUPS}/${id.toUpperCase()}`)).body, made.body);
    const patch = { group: { description: 'They look after the servers.' } };
    const changed = await send('PATCH', `${GROUPS}/${id}`, { body: patch });
    t.like(changed.body.data, { id, name: 'engineers', ...patch.group });
    t.like((await send('PUT', `${GROUPS}/${id}`, { body: { group: { name: 'ops' } } })).body.data, {
      name: 'ops',
      ...patch.group,
    });
    await send('POST', GROUPS, { body: { group: { name: 'sales' } } });
    const first = await send('GET', `${GROUPS}?limit=1`);
    t.deepEqual(
      first.body.data.map(({ name }: { name: string }) => name),
      ['ops'],
    );
    const [, next = ''] = /<([^>]+)>; rel="next"/.exec(String(first.headers['link'])) ?? [];
    const second = await send('GET', next);
    t.like(second.body.data[0], { name: 'sales' });
    t.is(second.headers['link'], undefined);
    t.is((await send('DELETE', `${GROUPS}/${id}`)).status, 204);
    for (const method of ['GET', 'PATCH', 'DELETE'])
      t.is((await send(method, `${GROUPS}/${id}`, { body: { group: {} } })).status, 404);
    const entries = await readAuditEntries(database, { kind: 'group', recordId: id, limit: 9 });
    t.deepEqual(
      entries.map(({ action }) => action),
      ['create', 'update', 'update', 'delete'],
    );
  });

  test(`${kind}: names are there, short and unique`, async (t) => {
    const { send } = await openServer(t, kind);
    const errorsOf = async (name: unknown) =>
      (await send('POST', GROUPS, { body: { group: { name } } })).body.errors;
    t.deepEqual(await errorsOf(undefined), { name: ["can't be blank"] });
    t.deepEqual(await errorsOf('x'.repeat(256)), { name: ['should be at most 255 character(s)'] });
    const { id } = (await send('POST', GROUPS, { body: { group: { name: 'ops' } } })).body.data;
    t.deepEqual(await errorsOf('ops'), { name: ['has already been taken'] });
    const same = await send('PATCH', `${GROUPS}/${id}`, { body: { group: { name: 'ops' } } });
    t.is(same.status, 200);
    await send('POST', GROUPS, { body: { group: { name: 'sales' } } });
    const taken = await send('PATCH', `${GROUPS}/${id}`, { body: { group: { name: 'sales' } } });
    t.deepEqual(taken.body.errors, { name: ['has already been taken'] });
  });

  test(`${kind}: a rule is of a user, of a group or of everyone`, async (t) => {
    const { send, adminId, database } = await openServer(t, kind);
    const ann = await addUser(database);
    const group = (await send('POST', GROUPS, { body: { group: { name: 'ops' } } })).body.data;
    const other = (await send('POST', GROUPS, { body: { group: { name: 'sales' } } })).body.data;
    const post = (rule: object) =>
      send('POST', '/v0/rules', { body: { rule: { destination: '10.0.0.0/8', ...rule } } });
    const made = await post({ group_id: group.id.toUpperCase() });
    t.is(made.status, 201);
    t.like(made.body.data, { group_id: group.id, user_id: null });
    t.deepEqual((await post({ group_id: NOBODY })).body.errors, { group_id: ['does not exist'] });
    t.deepEqual((await post({ group_id: group.id, user_id: ann.id })).body.errors, {
      group_id: [
        'must be null where user_id is set; a rule is of a user, of a group or of everyone',
      ],
    });
    const overlap = { destination: ['destination overlaps with an existing rule'] };
    t.deepEqual((await post({ group_id: group.id })).body.errors, overlap);
    for (const scope of [{ group_id: other.id }, { user_id: adminId }, {}])
      t.is((await post(scope)).status, 201, JSON.stringify(scope));
    t.deepEqual((await post({})).body.errors, overlap);
    const moved = await send('PATCH', `/v0/rules/${made.body.data.id}`, {
      body: { rule: { group_id: other.id } },
    });
    t.deepEqual(moved.body.errors, overlap);
    const scopesOf = async (query: string) =>
      (await send('GET', `/v0/rules?${query}`)).body.data.map(
        (rule: { user_id: string | null; group_id: string | null }) =>
          rule.group_id ?? rule.user_id ?? 'everyone',
      );
    t.deepEqual(await scopesOf(`group_id=${group.id}`), [group.id]);
    t.deepEqual(await scopesOf('user_id='), ['everyone']);
    t.deepEqual(await scopesOf(`user_id=${adminId}`), [adminId]);
    t.deepEqual(await scopesOf('group_id=x'), []);
    t.is((await send('DELETE', `${GROUPS}/${group.id}`)).status, 204);
    t.is((await send('GET', `/v0/rules/${made.body.data.id}`)).status, 404, 'it is gone with it');
    t.is((await scopesOf('')).length, 3);
  });
}

test('there are not too many groups', async (t) => {
  const { send, database } = await openServer(t, 'sqlite');
  await writeTransaction(database, (transaction) =>
    database.models.Group.bulkCreate(
      Array.from({ length: GROUPS_MAX }, (_, i) => ({ name: `group ${i}` })),
      { transaction, validate: false },
    ),
  );
  const refused = await send('POST', GROUPS, { body: { group: { name: 'one more' } } });
  t.is(refused.status, 422);
  t.regex(refused.body.errors.base[0], /^there are 10000 groups already/);
});
