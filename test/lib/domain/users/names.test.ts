// The names of people over HTTP: docs/api.md#users.

import test from 'ava';
import { openServer, refused, surfaces } from '../../../support/api/server.ts';

const ID = '00000000-0000-7000-8000-000000000000';

for (const kind of surfaces())
  test(`${kind}: a user has a name, which is cleaned, bounded and removed`, async (t) => {
    const { send } = await openServer(t, kind);
    const named = { email: 'ann@example.com', name: ' Rene\u0301 Lee ' };
    const made = await send('POST', '/v0/users', { body: { user: named } });
    t.is(made.body.data.name, 'Ren\u00e9 Lee');
    t.is(Object.keys(made.body.data)[2], 'name');
    const change = (name: unknown) =>
      send('PATCH', '/v0/users/ann@example.com', { body: { user: { name } } });
    t.is((await change('A'.repeat(255))).body.data.name.length, 255);
    const bad: [name: unknown, error: string][] = [
      ['A'.repeat(256), 'should be at most 255 character(s)'],
      ['Ann\u202e', 'has a character that cannot be seen; type it without'],
      [ID, 'is a UUID, which means the group of that id; choose another name'],
      [7, 'is invalid'],
    ];
    for (const [name, error] of bad)
      t.deepEqual((await change(name)).body, refused({ name: [error] }), error);
    t.is((await change('')).body.data.name, null);
    t.is((await change('Ann')).body.data.name, 'Ann');
    t.is((await change(null)).body.data.name, null);
  });
