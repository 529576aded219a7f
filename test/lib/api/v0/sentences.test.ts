// Sentences of docs/api.md#conventions that hold for every resource or for every spelling of a
// value. What concerns one resource is in the test of its name.

import test from 'ava';
import {
  answers,
  newKey,
  openServer,
  refused,
  type Row,
  surfaces,
  type TestServer,
} from '../../../support/api/server.ts';

const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const blank = ["can't be blank"];
const invalid = ['is invalid'];
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

/** One record of each kind: the path, the wrapper, and what makes another one. */
async function makeRecords({
  send,
  adminId,
}: TestServer): Promise<{ wrapper: string; path: string; one: string; create: () => object }[]> {
  let count = 0;
  const kinds = [
    { wrapper: 'user', create: () => ({ email: `ann-${(count += 1)}@example.com` }) },
    { wrapper: 'device', create: () => ({ user_id: adminId, public_key: newKey() }) },
    { wrapper: 'rule', create: () => ({ destination: `10.0.0.${(count += 1)}` }) },
  ];
  return Promise.all(
    kinds.map(async ({ wrapper, create }) => {
      const path = `/v0/${wrapper}s`;
      const { body } = await send('POST', path, { body: { [wrapper]: create() } });
      return { wrapper, path, one: `${path}/${body.data.id}`, create };
    }),
  );
}

for (const kind of surfaces()) {
  test(`${kind}: every operation of section 1 exists, also when its path ends in a slash`, async (t) => {
    const server = await openServer(t, kind);
    const { send } = server;
    for (const { wrapper, path, one, create } of await makeRecords(server)) {
      const unknown = `${path}/${UNKNOWN}`;
      const none = { body: { [wrapper]: {} } };
      await answers(t, server, [
        ...['', '/'].flatMap((slash): Row[] => [
          { says: 'list', send: ['GET', path + slash], status: 200 },
          { says: 'HEAD', send: ['HEAD', path + slash], status: 200 },
          { says: 'one', send: ['GET', one + slash], status: 200 },
          { says: 'HEAD', send: ['HEAD', one + slash], status: 200 },
          { says: 'PATCH may be empty', send: ['PATCH', one + slash, none], status: 200 },
          { says: 'PUT may be empty', send: ['PUT', one + slash, none], status: 200 },
          { says: 'unknown', send: ['GET', unknown + slash], status: 404 },
          { says: 'unknown', send: ['PATCH', unknown + slash, none], status: 404 },
          { says: 'unknown', send: ['DELETE', unknown + slash], status: 404 },
        ]),
        {
          says: 'malformed',
          send: ['DELETE', `${path}/x`],
          status: 404,
          body: { error: 'not_found' },
        },
        { says: 'malformed', send: ['PUT', `${path}/1`, none], status: 404 },
      ]);
      const made = await send('POST', `${path}/`, { body: { [wrapper]: create() } });
      t.is(made.status, 201);
      t.is(made.headers['location'], `${path}/${made.body.data.id}`);
      const upper = `${path}/${String(made.body.data.id).toUpperCase()}`;
      t.deepEqual((await send('GET', upper)).body, made.body, 'a UUID in any case');
      const gone = await send('DELETE', upper);
      t.is(gone.status, 204);
      t.is(gone.text, '');
      t.is((await send('GET', upper)).status, 404);
    }
  });

  test(`${kind}: times have six digits, and only a change makes updated_at later`, async (t) => {
    const server = await openServer(t, kind);
    const { send } = server;
    const changes: Record<string, (i: number) => object> = {
      user: (i) => ({ email: `new-${i}@example.com` }),
      device: (i) => ({ name: `new-${i}` }),
      rule: (i) => ({ destination: `10.9.0.${i}` }),
    };
    for (const { wrapper, one } of await makeRecords(server)) {
      const first = (await send('GET', one)).body.data;
      t.regex(first.inserted_at, TIME);
      let { updated_at: last } = first;
      // Several of these fall into one millisecond.
      for (let i = 1; i <= 15; i += 1) {
        const body = { [wrapper]: changes[wrapper]!(i) };
        const { data } = (await send('PATCH', one, { body })).body;
        t.true(data.updated_at > last, `${wrapper}: ${data.updated_at} after ${last}`);
        t.regex(data.updated_at, TIME);
        t.is(data.inserted_at, first.inserted_at);
        last = data.updated_at;
        const ignored = { id: UNKNOWN, inserted_at: 'x', updated_at: 5, nothing: {} };
        const again = await send('PUT', one, {
          body: { [wrapper]: { ...body[wrapper], ...ignored } },
        });
        t.deepEqual(again.body.data, data, 'what changes nothing, and what is read-only');
        t.deepEqual(
          (await send('GET', one)).body.data,
          data,
          'read later as it was answered first',
        );
      }
    }
  });

  test(`${kind}: on create a missing field, null and "" mean the same: the default`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    const optional: Record<string, string[]> = {
      user: ['role', 'password', 'password_confirmation'],
      device: [
        'name',
        'description',
        'preshared_key',
        'ipv4',
        'ipv6',
        'allowed_ips',
        'dns',
        'endpoint',
        'mtu',
        'persistent_keepalive',
      ],
      rule: ['port_type', 'port_range', 'user_id'],
    };
    let count = 0;
    const required: Record<string, () => object> = {
      user: () => ({ email: `ann-${(count += 1)}@example.com` }),
      device: () => ({ user_id: adminId, public_key: newKey() }),
      rule: () => ({ destination: `10.0.0.${(count += 1)}` }),
    };
    for (const [wrapper, names] of Object.entries(optional))
      for (const nothing of [null, '']) {
        const fields = Object.fromEntries(names.map((name) => [name, nothing]));
        const body = { [wrapper]: { ...required[wrapper]!(), ...fields } };
        const made = await send('POST', `/v0/${wrapper}s`, { body });
        t.is(made.status, 201, `${wrapper} ${JSON.stringify(nothing)}: ${made.text}`);
      }
    const flags = ['allowed_ips', 'dns', 'endpoint', 'mtu', 'persistent_keepalive'].map(
      (name) => `use_default_${name}`,
    );
    const of = (value: unknown): object => Object.fromEntries(flags.map((flag) => [flag, value]));
    const device = (fields: object): object => ({
      body: { device: { user_id: adminId, public_key: newKey(), ...fields } },
    });
    const errors = Object.fromEntries(flags.map((flag) => [flag, blank]));
    await answers(t, { send }, [
      {
        says: 'null is no flag',
        send: ['POST', '/v0/devices', device(of(null))],
        status: 422,
        body: refused(errors),
      },
      { says: '"" is no flag sent', send: ['POST', '/v0/devices', device(of(''))], status: 201 },
      {
        says: 'null is no action',
        send: ['POST', '/v0/rules', { body: { rule: { destination: '192.0.2.1', action: null } } }],
        status: 422,
        body: refused({ action: blank }),
      },
      {
        says: 'on update null empties no flag',
        send: [
          'PUT',
          '/v0/configuration',
          {
            body: {
              configuration: {
                local_auth_enabled: null,
                default_client_mtu: '',
                default_client_dns: null,
              },
            },
          },
        ],
        status: 422,
        body: refused({
          local_auth_enabled: blank,
          default_client_mtu: blank,
          default_client_dns: blank,
        }),
      },
    ]);
  });

  test(`${kind}: booleans and integers may be sent as texts, in one spelling each`, async (t) => {
    const { send } = await openServer(t, kind);
    const set = (field: string, value: string, status: number, errors?: string[]): Row => ({
      says: `${field}: ${value}`,
      // Written by hand, because JSON.stringify would change some of these numbers.
      send: ['PATCH', '/v0/configuration', { body: `{"configuration":{"${field}":${value}}}` }],
      status,
      ...(errors === undefined ? {} : { body: refused({ [field]: errors }) }),
    });
    const flag = 'local_auth_enabled';
    const mtu = 'default_client_mtu';
    const duration = 'vpn_session_duration';
    await answers(t, { send }, [
      ...['true', 'false', '"true"', '"false"', '"1"', '"0"'].map((value) => set(flag, value, 200)),
      ...['1', '0', '"TRUE"', '"yes"', '" true"', '[]', '{}', '[true]', '0.0', '1e0'].map((value) =>
        set(flag, value, 422, invalid),
      ),
      ...['1280', '"1280"', '1280.0', '128e1', '"+1280"', '"0001280"'].map((value) =>
        set(mtu, value, 200),
      ),
      ...['1280.5', '"1280.0"', '"1e3"', '" 1280"', '"0x500"', 'true', '[1280]', '{}', '"NaN"'].map(
        (value) => set(mtu, value, 422, invalid),
      ),
      set(mtu, '575', 422, ['must be greater than or equal to 576']),
      set(mtu, '-1e999', 422, ['must be greater than or equal to 576']),
      set(mtu, '1501', 422, ['must be less than or equal to 1500']),
      set(mtu, '1e999', 422, ['must be less than or equal to 1500']),
      set(duration, '2147483647', 200),
      set(duration, '2147483648', 422, ['must be less than or equal to 2147483647']),
      set(duration, '9007199254740993', 422, ['must be less than or equal to 2147483647']),
      set(duration, `1${'0'.repeat(400)}`, 422, ['must be less than or equal to 2147483647']),
    ]);
  });

  test(`${kind}: a text with NUL or a lone surrogate is invalid in every field`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    const rows = (
      method: string,
      path: string,
      wrapper: string,
      base: object,
      names: string[],
    ): Row[] =>
      names.flatMap((name) =>
        ['a\0', '\ud800', 'a\udc00b'].map((value) => ({
          says: `${wrapper}.${name} ${JSON.stringify(value)}`,
          send: [method, path, { body: { [wrapper]: { ...base, [name]: value } } }],
          status: 422,
          body: refused({ [name]: invalid }),
        })),
      );
    const device = { user_id: adminId, public_key: newKey() };
    await answers(t, { send }, [
      ...rows('POST', '/v0/users', 'user', { email: 'a@b.c' }, ['email', 'role']),
      ...rows('POST', '/v0/devices', 'device', device, [
        'name',
        'description',
        'user_id',
        'public_key',
        'preshared_key',
        'ipv4',
        'ipv6',
        'use_default_dns',
      ]),
      ...rows('POST', '/v0/devices', 'device', { ...device, use_default_endpoint: false }, [
        'endpoint',
      ]),
      ...rows('POST', '/v0/rules', 'rule', { destination: '10.0.0.1' }, [
        'destination',
        'action',
        'port_type',
        'port_range',
        'user_id',
      ]),
      ...rows('PUT', '/v0/configuration', 'configuration', {}, [
        'default_client_endpoint',
        'default_client_mtu',
        'local_auth_enabled',
        'logo',
      ]),
    ]);
    t.is((await send('GET', '/v0/devices')).body.data.length, 0);
  });

  test(`${kind}: endpoints, DNS servers and addresses are shown as section 5 spells them`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    const { body } = await send('POST', '/v0/devices', {
      body: {
        device: {
          user_id: adminId,
          public_key: newKey(),
          endpoint: 'a.b',
          use_default_endpoint: false,
          use_default_dns: false,
          use_default_allowed_ips: false,
        },
      },
    });
    const path = `/v0/devices/${body.data.id}`;
    const good: [name: string, value: unknown, shown: unknown][] = [
      ...[
        'host',
        '123',
        'a_b-c.d',
        'host:1',
        'host:65535',
        '192.0.2.1',
        '192.0.2.1:51820',
        'a.b.',
      ].map((value): [string, unknown, unknown] => ['endpoint', value, value]),
      ['endpoint', ' FD00::0:1 ', 'FD00::0:1'],
      ['endpoint', '[fd00::1]', '[fd00::1]'],
      ['endpoint', '[FD00::1]:51820', '[FD00::1]:51820'],
      [
        'dns',
        ['1.1.1.1', ' FD00::0:53 ', 'Dns.Example', '123'],
        ['1.1.1.1', 'fd00::53', 'Dns.Example', '123'],
      ],
      ['dns', [], []],
      [
        'allowed_ips',
        ['10.1.2.3/8', '9.9.9.9/32', '0.0.0.0/0', '::/0'],
        ['10.1.2.3/8', '9.9.9.9/32', '0.0.0.0/0', '::/0'],
      ],
      ['allowed_ips', ['1.1.1.1', '1.1.1.1/32'], ['1.1.1.1', '1.1.1.1/32']],
      ['allowed_ips', [' 2001:DB8:0:0::1/64 '], ['2001:db8::1/64']],
    ];
    for (const [name, value, shown] of good) {
      const answer = await send('PATCH', path, { body: { device: { [name]: value } } });
      t.is(answer.status, 200, answer.text);
      t.deepEqual(answer.body.data[name], shown, JSON.stringify(value));
    }
    const bad = (name: string, value: unknown, ...messages: string[]): Row => ({
      says: `${name} ${JSON.stringify(value)}`,
      send: ['PATCH', path, { body: { device: { [name]: value } } }],
      status: 422,
      body: refused({ [name]: messages }),
    });
    const port = 'port is not a number between 0 and 65535';
    const fqdn = (host: string): string => `${host} is not a valid FQDN`;
    await answers(t, { send }, [
      bad('endpoint', 'host:0', port),
      bad('endpoint', 'host:65536', port),
      bad('endpoint', 'host:-1', port),
      bad('endpoint', 'https://host', fqdn('https://host')),
      bad('endpoint', 'two words', fqdn('two words')),
      bad('endpoint', '1.2.3.256', fqdn('1.2.3.256')),
      bad('endpoint', '1.2.3.4.:5', fqdn('1.2.3.4.')),
      bad('endpoint', 'a..b', fqdn('a..b')),
      bad('endpoint', '[fe80::1%1]:5', fqdn('[fe80::1%1]')),
      bad('endpoint', 'a b:0', fqdn('a b'), port),
      bad('dns', ['host:53'], 'setting port is not allowed'),
      bad('dns', ['a b:53'], fqdn('a b'), 'setting port is not allowed'),
      bad('dns', ['1.1.1.1/32'], fqdn('1.1.1.1/32')),
      bad('dns', ['999.1.1.1'], fqdn('999.1.1.1')),
      bad('dns', ['fd00::1', 'FD00:0::1'], 'should not contain duplicates'),
      bad('dns', ['1.1.1.1', 5], 'is invalid'),
      bad('allowed_ips', ['10.0.0.0/33'], 'is invalid'),
      bad('allowed_ips', ['::/129'], 'is invalid'),
      bad('allowed_ips', ['fe80::1%1'], 'is invalid'),
      bad('allowed_ips', ['10.0.0'], 'is invalid'),
      bad('allowed_ips', ['10.0.0.0/08'], 'is invalid'),
      bad('allowed_ips', ['fd00::/8', 'FD00:0::/8'], 'should not contain duplicates'),
      bad('allowed_ips', [null], 'is invalid'),
    ]);
  });
}
