// Who is in a group: added and removed by id or e-mail, many at once, and no more than a user may.

import test from 'ava';
import { readAuditEntries, readGroupsOfUsers, writeTransaction } from '../../../../models/index.ts';
import { openServer } from '../../../support/api/server.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { addUser } from '../../../support/database/records.ts';

const GROUPS = '/v0/groups';
const [ANN, BOB, CEM] = ['ann@example.com', 'bob@example.com', 'cem@example.com'] as const;
const NOBODY = '01a20ad0-0000-7000-8000-000000000001';

type Send = Awaited<ReturnType<typeof openServer>>['send'];

async function addGroup(send: Send, name: string): Promise<string> {
  return (await send('POST', GROUPS, { body: { group: { name } } })).body.data.id;
}

for (const kind of databaseKinds()) {
  test(`${kind}: a member is added, listed and removed`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const [ann, bob] = [
      await addUser(database, { email: ANN }),
      await addUser(database, { email: BOB }),
    ];
    const id = await addGroup(send, 'ops');
    const members = `${GROUPS}/${id}/members`;
    const added = await send('PUT', `${members}/${ANN.toUpperCase()}`);
    t.is(added.status, 200);
    t.truthy(added.headers['postern-revision']);
    t.deepEqual(added.body.data, { id: ann.id, email: ANN, sources: ['manual'] });
    t.deepEqual((await send('PUT', `${members}/${ann.id}`)).body, added.body, 'again');
    await send('PUT', `${members}/${bob.id}`);
    const first = await send('GET', `${members}?limit=1`);
    const [, next = ''] = /<([^>]+)>; rel="next"/.exec(String(first.headers['link'])) ?? [];
    const both = [...first.body.data, ...(await send('GET', next)).body.data];
    t.deepEqual(
      both.map((member: { email: string }) => member.email),
      [ANN, BOB],
    );
    t.deepEqual(
      (await send('GET', `${GROUPS}?user_id=${ann.id}`)).body.data.map(
        (one: { id: string }) => one.id,
      ),
      [id],
    );
    t.is((await send('DELETE', `${members}/${ANN}`)).status, 204);
    t.is((await send('DELETE', `${members}/${ANN}`)).status, 404, 'no member any more');
    t.deepEqual((await send('GET', `${GROUPS}?user_id=${ann.id}`)).body.data, []);
    for (const path of [`${members}/nobody@example.com`, `${GROUPS}/${NOBODY}/members/${bob.id}`])
      t.is((await send('PUT', path)).status, 404, path);
    t.is((await send('GET', `${GROUPS}/${NOBODY}/members`)).status, 404);
    const entries = await readAuditEntries(database, { kind: 'group_membership', limit: 9 });
    t.deepEqual(
      entries.map(({ action, changes }) => [action, changes['user_id']]),
      [
        ['create', { to: ann.id }],
        ['create', { to: bob.id }],
        ['delete', { from: ann.id }],
      ],
    );
    t.is((await send('DELETE', `/v0/users/${bob.id}`)).status, 204);
    t.deepEqual((await send('GET', members)).body.data, [], 'a user goes with the memberships');
  });

  test(`${kind}: members come and go together, all of them or none`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const [ann, bob, cem] = [
      await addUser(database, { email: ANN }),
      await addUser(database, { email: BOB }),
      await addUser(database, { email: CEM }),
    ];
    const id = await addGroup(send, 'ops');
    const post = (members: object) =>
      send('POST', `${GROUPS}/${id}/members`, { body: { members } });
    const names = async () =>
      (await send('GET', `${GROUPS}/${id}/members`)).body.data.map((one: { id: string }) => one.id);
    t.deepEqual((await post({ add: [ANN, bob.id, BOB] })).body.data, {
      added: 2,
      removed: 0,
    });
    t.deepEqual((await post({ add: [ann.id, cem.id], remove: [bob.id] })).body.data, {
      added: 1,
      removed: 1,
    });
    t.deepEqual(await names(), [ann.id, cem.id]);
    t.deepEqual((await post({ add: [bob.id, 'x@y.test'], remove: ['z'] })).body.errors, {
      add: ['x@y.test is no user; give the id or the e-mail of one'],
      remove: ['z is no user; give the id or the e-mail of one'],
    });
    t.deepEqual((await post({ add: ['n'.repeat(100_000)] })).body.errors, {
      add: [`${'n'.repeat(200)}… is no user; give the id or the e-mail of one`],
    });
    t.deepEqual((await post({ add: [ann.id], remove: [ann.id] })).body.errors, {
      remove: [`${ANN} is also in add`],
    });
    for (const wrong of ['x', [7], { id: ann.id }])
      t.deepEqual((await post({ add: wrong })).body.errors, {
        add: ['should be a list of ids or e-mails of users, such as ["ann@example.com"]'],
      });
    const wrongs = [{ add: [ann.id] }, { members: [ann.id] }, [ann.id], { group: {} }];
    for (const wrong of wrongs) {
      const { status, body } = await send('POST', `${GROUPS}/${id}/members`, { body: wrong });
      t.is(status, 400);
      t.deepEqual(body.errors, {
        members: [
          'should be an object with the lists add, remove or both, such as {"add":["ann@example.com"]}',
        ],
      });
    }
    const { body: empty } = await send('POST', `${GROUPS}/${id}/members`, { body: {} });
    t.deepEqual(empty.errors, { members: ["can't be blank"] });
    t.is((await post({ add: Array.from({ length: 1_001 }, () => 'x') })).status, 422);
    t.deepEqual((await post({})).body.data, { added: 0, removed: 0 });
    t.deepEqual(await names(), [ann.id, cem.id]);
  });

  test(`${kind}: what a provider says is not removed here, and stays beside what we say`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const ann = await addUser(database);
    const id = await addGroup(send, 'ops');
    await writeTransaction(database, (transaction) =>
      database.models.GroupMembership.create(
        { group_id: id, user_id: ann.id, source: 'oidc/okta' },
        { transaction },
      ),
    );
    const path = `${GROUPS}/${id}/members/${ann.id}`;
    t.deepEqual((await send('PUT', path)).body.data.sources, ['manual', 'oidc/okta']);
    t.is((await send('DELETE', path)).status, 204, 'what an administrator said may go');
    const { data } = (await send('GET', `${GROUPS}/${id}/members`)).body;
    t.deepEqual(data[0].sources, ['oidc/okta']);
    const refused = await send('DELETE', path);
    t.is(refused.status, 422);
    t.regex(refused.body.errors.remove[0], /the identity provider "oidc\/okta" says so/);
    t.deepEqual((await readGroupsOfUsers(database, [ann.id])).get(ann.id), [id]);
  });

  test(`${kind}: a user is in 16 groups at most`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const ann = await addUser(database);
    const ids: string[] = [];
    for (let i = 0; i < 17; i += 1) ids.push(await addGroup(send, `group ${i}`));
    for (const id of ids.slice(0, 16))
      t.is((await send('PUT', `${GROUPS}/${id}/members/${ann.id}`)).status, 200);
    const refused = await send('PUT', `${GROUPS}/${ids[16]}/members/${ann.id}`);
    t.is(refused.status, 422);
    t.regex(refused.body.errors.add[0], /is in 16 groups already/);
    t.is((await send('PUT', `${GROUPS}/${ids[0]}/members/${ann.id}`)).status, 200, 'already in');
  });
}
