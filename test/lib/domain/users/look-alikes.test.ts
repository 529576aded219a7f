// E-mails that a person could take for those of another user, over HTTP. docs/api.md#users.

import test from 'ava';
import { openServer, refused, serverOn, surfaces } from '../../../support/api/server.ts';
import { addUser } from '../../../models/fixtures.ts';

for (const kind of surfaces()) {
  test(`${kind}: no e-mail may look like that of another user, and pairs of before can be edited`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const looks = { email: ['looks like the address of another user'] };
    const post = (email: string) => send('POST', '/v0/users', { body: { user: { email } } });
    t.is((await post('kim@example.com')).status, 201);
    const [wide, dotless] = ['\uff4bim@example.com', 'k\u0131m@example.com'];
    for (const email of [wide, dotless, 'kim@\u200bexample.com', 'KIM@exam\u00adple.com'])
      t.deepEqual((await post(email)).body, refused(looks), email);
    // The key of users folds the Kelvin sign, so this one is the very user.
    const kelvin = await post('\u212aim@example.com');
    t.deepEqual(kelvin.body, refused({ email: ['has already been taken'] }));
    const eve = await post('eve@example.com');
    const path = `/v0/users/${eve.body.data.id}`;
    const patch = (user: object) => send('PATCH', path, { body: { user } });
    t.deepEqual((await patch({ email: dotless })).body, refused(looks));
    // A pair that an older version let in: both can be edited, and each may change its case.
    const pair = await addUser(database, { email: wide });
    const edit = async (user: object) => {
      const answer = await send('PATCH', `/v0/users/${pair.id}`, { body: { user } });
      return answer.status;
    };
    t.is(await edit({ role: 'admin' }), 200);
    t.is(await edit({ email: wide, enabled: false }), 200);
    t.is(await edit({ email: wide.toUpperCase() }), 200);
    t.is(await edit({ email: dotless }), 200, 'the look stays');
    t.is(await edit({ email: 'kai@example.com' }), 200);
    t.is(await edit({ email: wide }), 422);
    t.is((await send('DELETE', '/v0/users/kim@example.com')).status, 204);
    t.is(await edit({ email: wide }), 200, 'nobody looks so any more');
  });

  test(`${kind}: of e-mails that look alike, made at one instant, one is made`, async (t) => {
    const one = await openServer(t, kind);
    const two = await serverOn(one.database);
    const spellings = ['kim@example.com', '\uff4bim@example.com', 'k\u0131m@example.com'];
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, i) => {
        const user = { email: spellings[i % 3] };
        return (i % 2 === 0 ? one : two).send('POST', '/v0/users', { body: { user } });
      }),
    );
    t.is(results.filter(({ status }) => status === 201).length, 1);
    t.true(results.every(({ status }) => [201, 422].includes(status)));
  });
}
