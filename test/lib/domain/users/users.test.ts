// Users over HTTP: docs/api.md#users, sentence by sentence.

import test from 'ava';
import fc from 'fast-check';
import { ATTEMPTS_MAX } from '../../../../lib/auth/attempts.ts';
import { verifyPassword } from '../../../../lib/auth/passwords.ts';
import { createToken } from '../../../../lib/auth/tokens.ts';
import { type Database, readUsers, writeTransaction } from '../../../../models/index.ts';
import {
  ADMIN_EMAIL,
  answers,
  newKey,
  openServer,
  refused,
  type Row,
  serverOn,
  surfaces,
} from '../../../support/api/server.ts';
import { addIdentity, addUser } from '../../../models/fixtures.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { addPerson, PASSWORD, Visitor } from '../../../support/web/visitor.ts';
import { oidcEntry } from '../../../support/auth/provider-entries.ts';
import { anyCharacter } from '../../../support/api/characters.ts';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const notFound = { error: 'not_found' };
const blank = ["can't be blank"];
const invalid = ['is invalid'];
const good = 'correct horse battery';

for (const kind of databaseKinds()) {
  test(`${kind}: a new password ends the wait after wrong ones, another change does not`, async (t) => {
    const server = await openServer(t, kind);
    const { id, email } = await addPerson(server.database, 'ann@example.com');
    const visitor = new Visitor(server);
    const isLetIn = async (password: string): Promise<boolean> => {
      await visitor.signIn(email, password);
      return visitor.cookies.has('postern-session');
    };
    for (let n = 0; n < ATTEMPTS_MAX; n += 1) await visitor.signIn(email, 'a wrong password');
    t.false(await isLetIn(PASSWORD));
    const change = (user: object) => server.send('PATCH', `/v0/users/${id}`, { body: { user } });
    t.is((await change({ role: 'admin' })).status, 200);
    t.false(await isLetIn(PASSWORD));
    const password = 'another good password';
    t.is((await change({ password, password_confirmation: password })).status, 200);
    t.true(await isLetIn(password));
  });
}

for (const kind of surfaces()) {
  test(`${kind}: a user is made, read, changed and deleted`, async (t) => {
    const { send } = await openServer(t, kind);
    const made = await send('POST', '/v0/users', {
      body: { user: { email: ' Ann@Example.com ' } },
    });
    t.is(made.status, 201);
    const user = made.body.data;
    t.is(made.headers['location'], `/v0/users/${user.id}`);
    t.deepEqual(
      { ...user, id: '', inserted_at: '', updated_at: '' },
      {
        id: '',
        email: 'Ann@Example.com',
        name: null,
        role: 'unprivileged',
        role_provider: null,
        enabled: true,
        disabled_at: null,
        limit_down: null,
        limit_up: null,
        quota: null,
        quota_used: 0,
        quota_exceeded: false,
        last_signed_in_at: null,
        last_signed_in_method: null,
        inserted_at: '',
        updated_at: '',
      },
    );
    t.regex(user.inserted_at, TIME);
    t.is(user.updated_at, user.inserted_at);
    t.deepEqual((await send('GET', `/v0/users/${user.id}`)).body, made.body);
    const changes = { email: 'ann@example.org', role: 'admin' };
    const changed = await send('PATCH', `/v0/users/${user.id}`, { body: { user: changes } });
    t.is(changed.status, 200);
    t.like(changed.body.data, { ...changes, id: user.id, inserted_at: user.inserted_at });
    t.true(changed.body.data.updated_at > user.updated_at);
    t.deepEqual((await send('GET', `/v0/users/${user.id}`)).body, changed.body);
    const gone = await send('DELETE', `/v0/users/${user.id}`);
    t.is(gone.status, 204);
    t.is(gone.text, '');
    t.is((await send('GET', `/v0/users/${user.id}`)).status, 404);
    t.is((await send('DELETE', `/v0/users/${user.id}`)).status, 404);
  });

  test(`${kind}: an administrator disables and enables people, and somebody administers`, async (t) => {
    const { send, adminId, database } = await openServer(t, kind);
    const email = 'ann@example.com';
    const made = await send('POST', '/v0/users', { body: { user: { email, enabled: false } } });
    t.like(made.body.data, { enabled: false });
    t.regex(made.body.data.disabled_at, TIME);
    const change = (id: string, user: object) =>
      send('PATCH', `/v0/users/${id}`, { body: { user } });
    const { id } = made.body.data;
    t.is((await change(id, { enabled: false })).body.data.disabled_at, made.body.data.disabled_at);
    t.like((await change(id, { enabled: true })).body.data, { enabled: true, disabled_at: null });
    t.like((await change(id, { email: 'b@example.com' })).body.data, { enabled: true });
    const own = { enabled: ['You cannot disable yourself'] };
    t.deepEqual((await change(adminId, { enabled: false })).body, refused(own));
    t.is((await change(adminId, { enabled: true })).status, 200);
    // By another administrator's token, the first one is the last that is enabled.
    await change(id, { role: 'admin' });
    const { token } = await createToken(database, { email: 'b@example.com', name: 'x' });
    await change(id, { enabled: false });
    t.is((await send('GET', '/v0/users', { token })).status, 401);
    t.deepEqual((await change(id, { enabled: null })).body, refused({ enabled: blank }));
  });

  test(`${kind}: an id is the UUID or the e-mail, in any spelling`, async (t) => {
    const { send } = await openServer(t, kind);
    const emails = [
      'Ann+Test@Example.com',
      'Jürgen@Bücher.example',
      '100%@example.com',
      'a/b@c',
      'ß@X',
    ];
    for (const email of emails) {
      const { body } = await send('POST', '/v0/users', { body: { user: { email } } });
      const { id } = body.data;
      const raw = Buffer.from(email, 'utf8').toString('latin1');
      // Node's parser refuses other bytes than ASCII in a path, before anyone sees the request.
      const canBeRaw = !email.includes('/') && (!kind.endsWith('socket') || /^[!-~]+$/.test(raw));
      const spellings = [
        id,
        id.toUpperCase(),
        encodeURIComponent(email),
        encodeURIComponent(email.toUpperCase().replace('SS', 'ß')),
        encodeURIComponent(email.normalize('NFD')),
        encodeURIComponent(email).replaceAll('%2B', '+').replaceAll('%40', '@'),
        ...(canBeRaw ? [raw] : []),
      ];
      for (const spelling of spellings)
        t.is((await send('GET', `/v0/users/${spelling}`)).body.data?.id, id, spelling);
    }
    const rows: Row[] = [
      'nobody@example.com',
      UNKNOWN,
      'x',
      '5',
      'null',
      '%00',
      'Ann Test@Example.com',
    ].map((id) => ({
      says: `there is no ${id}`,
      send: ['GET', `/v0/users/${encodeURI(id)}`],
      status: 404,
      body: notFound,
    }));
    await answers(t, { send }, rows);
    t.is(
      (await send('PATCH', '/v0/users/ann+test@example.com', { body: { user: { role: 'admin' } } }))
        .status,
      200,
    );
    t.is((await send('DELETE', '/v0/users/ANN%2BTEST%40EXAMPLE.COM')).status, 204);
  });

  test(`${kind}: every error of every field is reported at once`, async (t) => {
    const { send } = await openServer(t, kind);
    const create = (says: string, user: object, errors: object): Row => ({
      says,
      send: ['POST', '/v0/users', { body: { user } }],
      status: 422,
      body: refused(errors),
    });
    const email = 'a@b.c';
    const long = `${'a'.repeat(252)}@b.c`;
    await answers(t, { send }, [
      create('email is required', {}, { email: blank }),
      create('email is required', { email: '' }, { email: blank }),
      create('email is required', { email: '  ' }, { email: blank }),
      create('email is required', { email: null }, { email: blank }),
      create('email is text', { email: 5 }, { email: invalid }),
      create('email is readable', { email: 'a\0@b.c' }, { email: invalid }),
      ...['a', 'a@', '@b', 'a@b@c', '@', 'a@ '].map((bad) =>
        create(
          `one @ with text on both sides: ${bad}`,
          { email: bad },
          { email: ['is invalid email address'] },
        ),
      ),
      create('at most 255', { email: long }, { email: ['should be at most 255 character(s)'] }),
      create(
        'each rule',
        { email: `${'a'.repeat(256)}` },
        { email: ['should be at most 255 character(s)', 'is invalid email address'] },
      ),
      create(
        'unique without case',
        { email: ADMIN_EMAIL.toUpperCase() },
        { email: ['has already been taken'] },
      ),
      create('role', { email, role: 'root' }, { role: invalid }),
      create('role in its case', { email, role: 'Admin' }, { role: invalid }),
      create('role', { email, role: 5 }, { role: invalid }),
      create(
        'all at once',
        { email: ADMIN_EMAIL, role: 1, password: 'x' },
        {
          email: ['has already been taken'],
          role: invalid,
          password: ['should be at least 12 character(s)'],
          password_confirmation: blank,
        },
      ),
    ]);
    const edge = await send('POST', '/v0/users', {
      body: { user: { email: `${'😀'.repeat(251)}@b.c`, role: '' } },
    });
    t.is(edge.status, 201);
    t.is(edge.body.data.role, 'unprivileged');
  });

  test(`${kind}: a password is 12 to 64 characters, at most 72 bytes, and sent twice`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    const twice = (password: unknown, password_confirmation: unknown = password): object => ({
      password,
      password_confirmation,
    });
    const table: [says: string, fields: object, errors: object][] = [
      ['too short', twice('12345678901'), { password: ['should be at least 12 character(s)'] }],
      ['too long', twice('x'.repeat(65)), { password: ['should be at most 64 character(s)'] }],
      ['bytes', twice('ä'.repeat(37)), { password: ['should be at most 72 byte(s)'] }],
      [
        'both',
        twice('😀'.repeat(65)),
        { password: ['should be at most 64 character(s)', 'should be at most 72 byte(s)'] },
      ],
      ['no confirmation', { password: good }, { password_confirmation: blank }],
      ['empty confirmation', twice(good, ''), { password_confirmation: blank }],
      ['null confirmation', twice(good, null), { password_confirmation: blank }],
      [
        'other confirmation',
        twice(good, `${good} `),
        { password_confirmation: ['does not match confirmation'] },
      ],
      ['confirmation of another type', twice(good, 5), { password_confirmation: invalid }],
      [
        'short and different',
        twice('short', 'other'),
        {
          password: ['should be at least 12 character(s)'],
          password_confirmation: ['does not match confirmation'],
        },
      ],
      ['no text', twice(123456789012), { password: invalid }],
      ['NUL', twice('123456789012\0'), { password: invalid }],
    ];
    for (const [says, fields, errors] of table)
      for (const [method, path] of [
        ['POST', '/v0/users'],
        ['PATCH', `/v0/users/${adminId}`],
      ] as const) {
        const user = method === 'POST' ? { email: 'x@y.z', ...fields } : fields;
        const answer = await send(method, path, { body: { user } });
        t.is(answer.status, 422, says);
        t.deepEqual(answer.body, refused(errors), says);
      }
  });

  test(`${kind}: a password is hashed as it is, never shown, and cannot be cleared`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const hashOf = async (email: string): Promise<string | null> =>
      (await database.models.User.findOne({ where: { email } }))?.password_hash ?? null;
    const password = '  Pässwörd 12 '.normalize('NFD');
    const user = { email: 'ann@example.com', password, password_confirmation: password };
    const made = await send('POST', '/v0/users', { body: { user } });
    t.is(made.status, 201, made.text);
    t.false(made.text.includes('password'));
    const first = await hashOf(user.email);
    t.regex(String(first), /^\$2b\$04\$/);
    t.true(await verifyPassword(password.normalize('NFC'), String(first)));
    t.false(await verifyPassword(password.trim(), String(first)));
    for (const kept of [
      { password: null },
      { password: '' },
      { password_confirmation: good },
      {},
    ]) {
      const answer = await send('PATCH', '/v0/users/ann@example.com', { body: { user: kept } });
      t.is(answer.status, 200);
      t.is(answer.body.data.updated_at, made.body.data.updated_at);
      t.is(await hashOf(user.email), first);
    }
    const changed = { password: good, password_confirmation: good };
    await send('PATCH', '/v0/users/ann@example.com', { body: { user: changed } });
    t.true(await verifyPassword(good, String(await hashOf(user.email))));
    const none = { email: 'bob@example.com', password: '', password_confirmation: 'ignored' };
    t.is((await send('POST', '/v0/users', { body: { user: none } })).status, 201);
    t.is(await hashOf('bob@example.com'), null);
  });

  test(`${kind}: an update that changes nothing leaves updated_at alone`, async (t) => {
    const { send } = await openServer(t, kind);
    const made = await send('POST', '/v0/users', { body: { user: { email: 'Ann@Example.com' } } });
    const { id, updated_at } = made.body.data;
    for (const user of [
      {},
      { email: ' Ann@Example.com' },
      { role: 'unprivileged' },
      made.body.data,
    ]) {
      const answer = await send('PUT', `/v0/users/${id}`, { body: { user } });
      t.deepEqual(answer.body, made.body);
      t.is(answer.headers['postern-applied'], 'true');
    }
    // A change of case is a change, and no other user's e-mail.
    const answer = await send('PUT', `/v0/users/${id}`, {
      body: { user: { email: 'ann@example.com' } },
    });
    t.is(answer.body.data.email, 'ann@example.com');
    t.true(answer.body.data.updated_at > updated_at);
    let last = answer.body.data.updated_at;
    for (let i = 0; i < 5; i += 1) {
      const next = await send('PUT', `/v0/users/${id}`, {
        body: { user: { email: `ann${i}@x.y` } },
      });
      t.true(next.body.data.updated_at > last);
      last = next.body.data.updated_at;
    }
  });

  test(`${kind}: updates keep what is not sent and refuse what cannot be`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    await send('POST', '/v0/users', { body: { user: { email: 'ann@example.com' } } });
    const patch = (says: string, user: object, status: number, errors?: object): Row => ({
      says,
      send: ['PATCH', '/v0/users/ann@example.com', { body: { user } }],
      status,
      ...(errors === undefined ? {} : { body: refused(errors) }),
    });
    await answers(t, { send }, [
      patch('null', { email: null }, 422, { email: blank }),
      patch('empty', { email: '' }, 422, { email: blank }),
      patch('null', { role: null }, 422, { role: blank }),
      patch('empty', { role: '' }, 422, { role: blank }),
      patch('taken', { email: 'ADMIN@example.com' }, 422, { email: ['has already been taken'] }),
      patch(
        'disabled_at and the like are read-only',
        { disabled_at: '2026-01-01', id: adminId, inserted_at: 5, last_signed_in_at: 5 },
        200,
      ),
    ]);
    const { body } = await send('GET', '/v0/users/ann@example.com');
    t.is(body.data.disabled_at, null);
  });

  test(`${kind}: nobody changes their own role, and somebody administers`, async (t) => {
    const { send, adminId, database } = await openServer(t, kind);
    const role = (of: string, value: unknown): Row['send'] => [
      'PATCH',
      `/v0/users/${of}`,
      { body: { user: { role: value } } },
    ];
    const rows: Row[] = [
      {
        says: 'one’s own role',
        send: role(adminId, 'unprivileged'),
        status: 422,
        body: refused({ role: ['You cannot change your own role'] }),
      },
      {
        says: 'by e-mail too',
        send: role(ADMIN_EMAIL, 'unprivileged'),
        status: 422,
        body: refused({ role: ['You cannot change your own role'] }),
      },
      { says: 'the present value is fine', send: role(adminId, 'admin'), status: 200 },
      {
        says: 'beside other errors',
        send: [
          'PATCH',
          `/v0/users/${adminId}`,
          { body: { user: { role: 'unprivileged', email: 'x' } } },
        ],
        status: 422,
        body: refused({
          role: ['You cannot change your own role'],
          email: ['is invalid email address'],
        }),
      },
      {
        says: 'the last cannot be deleted',
        send: ['DELETE', `/v0/users/${adminId}`],
        status: 422,
        body: refused({ base: ['the last administrator cannot be deleted'] }),
      },
    ];
    await answers(t, { send }, rows);
    const user = { email: 'bob@example.com', role: 'admin' };
    const { body } = await send('POST', '/v0/users', { body: { user } });
    const bob = await createToken(database, { email: user.email, name: 'bob' });
    await writeTransaction(database, (transaction) =>
      database.models.User.update(
        { disabled_at: new Date(), disabled_by: 'administrator' },
        { where: { id: body.data.id }, transaction },
      ),
    );
    t.is((await send('GET', '/v0/users', { token: bob.token })).status, 401);
    t.is(
      (await send('DELETE', `/v0/users/${adminId}`)).status,
      422,
      'a disabled one does not count',
    );
    await writeTransaction(database, (transaction) =>
      database.models.User.update(
        { disabled_at: null, disabled_by: null },
        { where: { id: body.data.id }, transaction },
      ),
    );
    t.is((await send(...role(body.data.id, 'unprivileged'))).status, 200);
    t.is((await send(...role(body.data.id, 'admin'))).status, 200);
    t.is(
      (await send('DELETE', `/v0/users/${adminId}`)).status,
      204,
      'oneself, while another is left',
    );
    t.is((await send('GET', '/v0/users')).status, 401, 'the token went with its owner');
    t.is((await send('GET', '/v0/users', { token: bob.token })).status, 200);
  });

  test(`${kind}: the only administrator who can sign in stays one, whoever else is there`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const made = { email: 'ann@example.com', role: 'admin', password: good };
    const user = { ...made, password_confirmation: good };
    t.is((await send('POST', '/v0/users', { body: { user } })).status, 201);
    const here = '/v0/users/ann@example.com';
    const error = ['no other administrator can sign in'];
    const refuses = async (sent: object | null, errors: object): Promise<void> => {
      const answer = await (sent === null
        ? send('DELETE', here)
        : send('PATCH', here, { body: { user: sent } }));
      t.deepEqual([answer.status, answer.body], [422, refused(errors)]);
    };
    const checkAll = async (): Promise<void> => {
      await refuses({ role: 'unprivileged' }, { role: error });
      await refuses({ enabled: false }, { enabled: error });
      await refuses(null, { base: error });
    };
    await checkAll();
    await addUser(database, { email: 'bob@example.com', role: 'admin', password_hash: 'x' });
    t.is((await send('PATCH', here, { body: { user: { enabled: false } } })).status, 200);
    t.is((await send('PATCH', here, { body: { user: { enabled: true } } })).status, 200);
    await switchToProvider(database, 'ann@example.com');
    await checkAll();
    t.is((await send('DELETE', '/v0/users/bob@example.com')).status, 204, 'who cannot sign in');
  });

  test(`${kind}: the provider that made an administrator is shown until somebody sets the role`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const { id } = await addUser(database, { role: 'admin', role_provider: 'oidc/okta' });
    const path = `/v0/users/${id}`;
    t.like((await send('GET', path)).body.data, { role: 'admin', role_provider: 'oidc/okta' });
    const patch = async (user: object) => (await send('PATCH', path, { body: { user } })).body.data;
    t.like(await patch({ role_provider: 'oidc/mine' }), { role_provider: 'oidc/okta' }, 'ignored');
    t.like(await patch({ role: 'unprivileged' }), { role: 'unprivileged', role_provider: null });
  });

  test(`${kind}: one changes one's own e-mail and password, also without local sign-in`, async (t) => {
    const { send, adminId, database } = await openServer(t, kind);
    const configuration = { local_auth_enabled: false };
    await send('PATCH', '/v0/configuration', { body: { configuration } });
    const user = { email: 'me@example.com', password: good, password_confirmation: good };
    const { status, body } = await send('PATCH', `/v0/users/${adminId}`, { body: { user } });
    t.is(status, 200);
    t.is(body.data.email, 'me@example.com');
    const row = await database.models.User.findByPk(adminId);
    t.true(await verifyPassword(good, String(row?.password_hash)));
    t.is((await send('GET', '/v0/users/ME@example.com')).status, 200, 'the token stays good');
  });

  test(`${kind}: of two administrators who demote or delete each other one stays`, async (t) => {
    for (const method of ['PATCH', 'DELETE']) {
      const one = await openServer(t, kind);
      const two = await serverOn(one.database);
      const user = { email: 'bob@example.com', role: 'admin' };
      const { body } = await one.send('POST', '/v0/users', { body: { user } });
      const bob = await createToken(one.database, { email: user.email, name: 'bob' });
      const sent = method === 'PATCH' ? { body: { user: { role: 'unprivileged' } } } : {};
      const both = await Promise.all([
        one.send(method, `/v0/users/${body.data.id}`, sent),
        two.send(method, `/v0/users/${one.adminId}`, { ...sent, token: bob.token }),
      ]);
      const left = (await readUsers(one.database)).filter(({ role }) => role === 'admin');
      t.is(left.length, 1, JSON.stringify(both.map(({ status, text }) => [status, text])));
      t.true(both.some(({ status }) => status < 300));
    }
  });

  test(`${kind}: a deleted user takes devices, rules and tokens along`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const { body } = await send('POST', '/v0/users', {
      body: { user: { email: 'ann@example.com' } },
    });
    const user_id = body.data.id;
    await createToken(database, { email: 'ann@example.com', name: 'x' });
    const device = await send('POST', '/v0/devices', {
      body: { device: { user_id, public_key: newKey() } },
    });
    const rule = await send('POST', '/v0/rules', {
      body: { rule: { user_id, destination: '10.0.0.1' } },
    });
    const gone = await send('DELETE', '/v0/users/ann@example.com');
    t.is(gone.status, 204);
    t.regex(String(gone.headers['postern-revision']), /^\d+$/);
    t.is((await send('GET', `/v0/devices/${device.body.data.id}`)).status, 404);
    t.is((await send('GET', `/v0/rules/${rule.body.data.id}`)).status, 404);
    t.is(await database.models.ApiToken.count({ where: { user_id } }), 0);
    t.deepEqual((await send('GET', '/v0/devices')).body, { data: [] });
    t.deepEqual((await send('GET', '/v0/rules')).body, { data: [] });
  });

  test(`${kind}: lists hold every record, the oldest first`, async (t) => {
    const { send } = await openServer(t, kind);
    const emails = Array.from({ length: 12 }, (_, i) => `u${i}@example.com`);
    for (const email of emails) await send('POST', '/v0/users', { body: { user: { email } } });
    const { body } = await send('GET', '/v0/users');
    t.deepEqual(
      body.data.map(({ email }: { email: string }) => email),
      [ADMIN_EMAIL, ...emails],
    );
    t.deepEqual(body.data[3], (await send('GET', '/v0/users/u2@example.com')).body.data);
    await send('DELETE', '/v0/users/u2@example.com');
    t.is((await send('GET', '/v0/users')).body.data.length, 12);
  });

  test(`${kind}: of equal e-mails at one instant one is taken`, async (t) => {
    const one = await openServer(t, kind);
    const two = await serverOn(one.database);
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const user = { email: i % 3 === 0 ? 'ANN@example.com' : 'ann@example.com' };
        return (i % 2 === 0 ? one : two).send('POST', '/v0/users', { body: { user } });
      }),
    );
    t.is(results.filter(({ status }) => status === 201).length, 1);
    for (const { status, body } of results)
      if (status !== 201) t.deepEqual(body, refused({ email: ['has already been taken'] }));
  });
}

test('no user whatsoever makes a 5xx, and a refused one changes nothing', async (t) => {
  const { send, database, log } = await openServer(t, 'sqlite');
  const count = (): Promise<number> => database.models.User.count();
  const field = fc.constantFrom(
    'email',
    'role',
    'password',
    'password_confirmation',
    'id',
    '__proto__',
    'x',
  );
  const text = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.constantFrom('a@b.c', '\0', '\ud800', 'admin', '1e400', 'x'.repeat(300)),
  );
  const value = fc.oneof(fc.jsonValue({ maxDepth: 5 }), text, fc.double());
  await fc.assert(
    fc.asyncProperty(fc.dictionary(field, value), fc.boolean(), async (user, isUpdate) => {
      const before = await count();
      const [method, path] = isUpdate ? ['PATCH', `/v0/users/${UNKNOWN}`] : ['POST', '/v0/users'];
      const { status } = await send(method, path, { body: { user } });
      t.true([201, 404, 422].includes(status), String(status));
      t.is(await count(), before + (status === 201 ? 1 : 0));
    }),
    { numRuns: 150 },
  );
  t.deepEqual(
    log.filter(({ level }) => level === 'error'),
    [],
  );
});

/** Passwords serve no longer, and only this user was here through the provider. */
async function switchToProvider(database: Database, email: string): Promise<void> {
  const ann = await database.models.User.findOne({ where: { email }, rejectOnEmpty: true });
  await addIdentity(database, ann);
  const values = {
    local_auth_enabled: false,
    openid_connect_providers: [oidcEntry({ id: 'okta' })],
  };
  await writeTransaction(database, async (transaction) => {
    const row = await database.models.Configuration.findOne({ transaction, rejectOnEmpty: true });
    await row.update(values, { transaction });
  });
}
