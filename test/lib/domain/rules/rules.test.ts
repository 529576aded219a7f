// Rules over HTTP: docs/api.md#rules, sentence by sentence.

import test from 'ava';
import fc from 'fast-check';
import {
  answers,
  openServer,
  refused,
  type Row,
  serverOn,
  surfaces,
} from '../../../support/api/server.ts';
import { anyCharacter } from '../../../support/api/characters.ts';

const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const blank = ["can't be blank"];
const invalid = ['is invalid'];
const besidePorts =
  'must be null where port_type or port_range is set; only tcp and udp have ports';
const overlaps = refused({ destination: ['destination overlaps with an existing rule'] });

for (const kind of surfaces()) {
  test(`${kind}: a rule is made, read, changed and deleted`, async (t) => {
    const { send } = await openServer(t, kind);
    const rule = { destination: ' 10.1.2.3/8 ' };
    const made = await send('POST', '/v0/rules', { body: { rule } });
    t.is(made.status, 201);
    const { id, inserted_at, updated_at } = made.body.data;
    t.is(made.headers['location'], `/v0/rules/${id}`);
    t.deepEqual(made.body.data, {
      id,
      action: 'drop',
      destination: '10.1.2.3/8',
      port_type: null,
      port_range: null,
      protocol: null,
      user_id: null,
      description: null,
      enabled: true,
      enforced: true,
      starts_at: null,
      ends_at: null,
      group_id: null,
      inserted_at,
      updated_at,
    });
    t.deepEqual((await send('GET', `/v0/rules/${id.toUpperCase()}`)).body, made.body);
    t.deepEqual((await send('GET', '/v0/rules')).body, { data: [made.body.data] });
    for (const same of [{}, { destination: '10.1.2.3/8' }, made.body.data])
      t.deepEqual((await send('PUT', `/v0/rules/${id}`, { body: { rule: same } })).body, made.body);
    const changes = { action: 'accept', port_type: 'udp', port_range: 53 };
    const changed = await send('PATCH', `/v0/rules/${id}`, { body: { rule: changes } });
    t.like(changed.body.data, {
      action: 'accept',
      port_type: 'udp',
      port_range: '53',
      inserted_at,
    });
    t.true(changed.body.data.updated_at > updated_at);
    t.deepEqual((await send('GET', `/v0/rules/${id}`)).body, changed.body);
    t.is((await send('DELETE', `/v0/rules/${id}`)).status, 204);
    for (const method of ['GET', 'DELETE'])
      t.is((await send(method, `/v0/rules/${id}`)).status, 404);
    t.deepEqual((await send('GET', '/v0/rules')).body, { data: [] });
  });

  test(`${kind}: a rule says what it is for, and overlaps none while it is off`, async (t) => {
    const { send } = await openServer(t, kind);
    const rule = { destination: '10.0.0.0/8', description: ' The wiki ', enabled: false };
    const make = (more: object) =>
      send('POST', '/v0/rules', { body: { rule: { ...rule, ...more } } });
    const off = (await make({})).body.data;
    t.like(off, { description: 'The wiki', enabled: false });
    t.is((await make({})).status, 201, 'two that are off');
    t.is((await make({ enabled: true })).status, 201, 'one that is off is in the way of none');
    const change = (more: object) => send('PATCH', `/v0/rules/${off.id}`, { body: { rule: more } });
    t.deepEqual((await change({ enabled: true })).body, overlaps);
    t.is((await change({ destination: '10.0.0.0/9' })).status, 200);
    t.is((await change({ destination: '11.0.0.0/8', enabled: true })).status, 200);
    t.deepEqual((await change({ destination: '10.0.0.0/9' })).body, overlaps);
    t.like((await change({ description: '', enabled: false })).body.data, { enabled: false });
    await answers(t, { send }, [
      {
        says: 'errors',
        send: [
          'POST',
          '/v0/rules',
          { body: { rule: { ...rule, description: 'x'.repeat(256), enabled: 'off' } } },
        ],
        status: 422,
        body: refused({
          description: ['should be at most 255 character(s)'],
          enabled: invalid,
        }),
      },
    ]);
  });

  test(`${kind}: a staged rule overlaps none until it is enforced`, async (t) => {
    const { send } = await openServer(t, kind);
    const rule = { destination: '10.0.0.0/8', enforced: false };
    const make = (more: object) =>
      send('POST', '/v0/rules', { body: { rule: { ...rule, ...more } } });
    const staged = (await make({})).body.data;
    t.is(staged.enforced, false);
    t.is((await make({})).status, 201, 'two that are staged');
    const { id } = (await make({ enforced: true })).body.data;
    const change = (more: object, of: string = staged.id) =>
      send('PATCH', `/v0/rules/${of}`, { body: { rule: more } });
    t.deepEqual((await change({ enforced: true })).body, overlaps);
    t.is((await change({ destination: '10.0.0.0/9' })).status, 200);
    t.is((await change({ enforced: false }, id)).status, 200);
    t.is((await change({ enforced: true })).status, 200);
    t.deepEqual((await change({ enforced: true }, id)).body, overlaps);
    t.deepEqual((await change({ enforced: 'no' })).body, refused({ enforced: invalid }));
  });

  test(`${kind}: a rule has a start and an end, and overlaps none at another time`, async (t) => {
    const { send } = await openServer(t, kind);
    const hours = (count: number): string => new Date(Date.now() + count * 3_600_000).toISOString();
    const make = (more: object) =>
      send('POST', '/v0/rules', { body: { rule: { destination: '10.0.0.0/8', ...more } } });
    const [start, end] = [hours(1), hours(2)];
    const made = await make({ starts_at: start, ends_at: end.replace('Z', '+00:00') });
    t.is(made.status, 201);
    const shown = (time: string): string => time.replace('Z', '000Z');
    t.like(made.body.data, { starts_at: shown(start), ends_at: shown(end) });
    t.deepEqual((await make({})).body, overlaps);
    t.deepEqual((await make({ starts_at: hours(1.5) })).body, overlaps);
    t.is((await make({ starts_at: end })).status, 201, 'after it');
    t.is((await make({ ends_at: start })).status, 201, 'before it');
    t.is((await make({ ends_at: hours(-1) })).status, 201, 'over already');
    const change = (more: object) =>
      send('PATCH', `/v0/rules/${made.body.data.id}`, { body: { rule: more } });
    t.is((await change({ description: 'a window' })).status, 200, 'the same times');
    t.deepEqual((await change({ ends_at: hours(3) })).body, overlaps);
    t.deepEqual((await change({ starts_at: '' })).body, overlaps);
    t.is((await change({ ends_at: hours(1.5) })).status, 200);
    const after = refused({ ends_at: ['must be after starts_at'] });
    t.deepEqual((await change({ ends_at: start })).body, after);
    t.deepEqual((await change({ starts_at: hours(1.5) })).body, after);
    t.deepEqual((await make({ starts_at: end, ends_at: start })).body, after);
    const bad = ['is not a time such as 2026-11-25T10:00:00Z'];
    t.deepEqual((await make({ starts_at: 'noon', ends_at: '2026-02-30T10:00:00Z' })).body, {
      ...refused({ starts_at: bad, ends_at: bad }),
    });
    // In UTC the year has five digits, which neither an answer nor a database can hold.
    t.deepEqual((await make({ ends_at: '9999-12-31T23:59:59-10:00' })).body, {
      ...refused({ ends_at: bad }),
    });
    t.is((await send('GET', '/v0/rules')).status, 200);
  });

  test(`${kind}: every error of every field is reported at once`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    const destination = '10.0.0.1';
    const create = (says: string, rule: object, errors: object): Row => ({
      says,
      send: ['POST', '/v0/rules', { body: { rule } }],
      status: 422,
      body: refused(errors),
    });
    const ports = (port_range: unknown, ...messages: string[]): Row =>
      create(
        `port_range ${JSON.stringify(port_range)}`,
        { destination, port_type: 'tcp', port_range },
        { port_range: messages },
      );
    await answers(t, { send }, [
      create('required', {}, { destination: blank }),
      create('required', { destination: '' }, { destination: blank }),
      create('required', { destination: '   ' }, { destination: blank }),
      create('required', { destination: null }, { destination: blank }),
      ...[
        '10.0.0',
        '10.0.0.0/33',
        '10.0.0.0/-1',
        '::/129',
        'example.com',
        'fe80::1%1',
        '10.0.0.1-10.0.0.9',
        5,
        ['10.0.0.1'],
        {},
      ].map((bad) =>
        create(
          `destination ${JSON.stringify(bad)}`,
          { destination: bad },
          { destination: invalid },
        ),
      ),
      create('action', { destination, action: 'ACCEPT' }, { action: invalid }),
      create('action', { destination, action: 'reject' }, { action: invalid }),
      create('action', { destination, action: 1 }, { action: invalid }),
      create('null is no action', { destination, action: null }, { action: blank }),
      create(
        'port_type',
        { destination, port_type: 'TCP', port_range: 80 },
        { port_type: invalid },
      ),
      create('port_type', { destination, port_type: 'icmp' }, { port_type: invalid }),
      create('protocol', { destination, protocol: 'tcp' }, { protocol: ['should be one of icmp'] }),
      create('protocol', { destination, protocol: 6 }, { protocol: ['should be one of icmp'] }),
      create(
        'protocol',
        { destination, protocol: 'icmp', port_type: 'udp', port_range: 53 },
        { protocol: [besidePorts] },
      ),
      create(
        'protocol',
        { destination, protocol: 'icmp', port_range: 53 },
        { port_type: blank, protocol: [besidePorts] },
      ),
      create(
        'port_type',
        { destination, port_type: 6, port_range: 'x' },
        { port_type: invalid, port_range: ['bad format'] },
      ),
      create('together', { destination, port_type: 'tcp' }, { port_range: blank }),
      create('together', { destination, port_type: 'tcp', port_range: '' }, { port_range: blank }),
      create('together', { destination, port_range: '80' }, { port_type: blank }),
      create('together', { destination, port_range: '80', port_type: null }, { port_type: blank }),
      create(
        'together',
        { destination, port_range: '70000' },
        { port_type: blank, port_range: ['port is not within valid range'] },
      ),
      ports('0', 'port is not within valid range'),
      ports(0, 'port is not within valid range'),
      ports(-1, 'port is not within valid range'),
      ports('65536', 'port is not within valid range'),
      ports('1 - 65536', 'port is not within valid range'),
      ports(1e300, 'port is not within valid range'),
      ports('90 - 80', 'lower value cannot be higher than upper value'),
      ports('80,90', 'bad format'),
      ports('80-', 'bad format'),
      ports('-', 'bad format'),
      ports('http', 'bad format'),
      ports('80 - 90 - 100', 'bad format'),
      ports(80.5, 'bad format'),
      ports([80], 'bad format'),
      ports({}, 'bad format'),
      ports(true, 'bad format'),
      ports('80\0', 'is invalid'),
      create('user', { destination, user_id: UNKNOWN }, { user_id: ['does not exist'] }),
      create('user', { destination, user_id: 'x' }, { user_id: ['does not exist'] }),
      create('user', { destination, user_id: 5 }, { user_id: invalid }),
      create('user', { destination, user_id: [adminId] }, { user_id: invalid }),
      create(
        'all',
        { destination: 'x', action: 'x', port_type: 'x', port_range: 'x', user_id: 'x' },
        {
          destination: invalid,
          action: invalid,
          port_type: invalid,
          port_range: ['bad format'],
          user_id: ['does not exist'],
        },
      ),
    ]);
    t.deepEqual((await send('GET', '/v0/rules')).body, { data: [] });
  });

  test(`${kind}: values are shown in their accepted form`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    const table: [rule: object, shown: object][] = [
      [{ destination: '9.9.9.9/32' }, { destination: '9.9.9.9/32' }],
      [{ destination: '9.9.9.8' }, { destination: '9.9.9.8' }],
      [{ destination: 'FD00:0::1/64' }, { destination: 'fd00::1/64' }],
      [{ destination: '1.1.1.1', port_type: 'tcp', port_range: 443 }, { port_range: '443' }],
      [{ destination: '1.1.1.2', port_type: 'tcp', port_range: '443' }, { port_range: '443' }],
      [
        { destination: '1.1.1.3', port_type: 'tcp', port_range: '80-90' },
        { port_range: '80 - 90' },
      ],
      [
        { destination: '1.1.1.4', port_type: 'tcp', port_range: ' 80 - 90 ' },
        { port_range: '80 - 90' },
      ],
      [{ destination: '1.1.1.5', port_type: 'udp', port_range: '80-80' }, { port_range: '80' }],
      [
        { destination: '1.1.1.6', port_type: 'udp', port_range: '1 - 65535' },
        { port_range: '1 - 65535' },
      ],
      [
        { destination: '1.1.1.7', port_type: null, port_range: '' },
        { port_range: null, port_type: null },
      ],
      [{ destination: '1.1.1.8', user_id: '' }, { user_id: null }],
      [{ destination: '1.1.1.9', user_id: adminId.toUpperCase() }, { user_id: adminId }],
      [{ destination: '1.1.1.10', action: '' }, { action: 'drop' }],
      [
        { destination: '1.1.1.11', action: 'accept', id: UNKNOWN, inserted_at: 5 },
        { action: 'accept' },
      ],
    ];
    for (const [rule, shown] of table) {
      const made = await send('POST', '/v0/rules', { body: { rule } });
      t.is(made.status, 201, made.text);
      t.like(made.body.data, shown, JSON.stringify(rule));
      t.deepEqual((await send('GET', `/v0/rules/${made.body.data.id}`)).body, made.body);
    }
    t.is((await send('GET', '/v0/rules')).body.data.length, table.length);
  });

  test(`${kind}: an update is checked on the merged record`, async (t) => {
    const { send } = await openServer(t, kind);
    const rule = { destination: '10.0.0.1', port_type: 'tcp', port_range: 80 };
    const { body } = await send('POST', '/v0/rules', { body: { rule } });
    const patch = (says: string, changes: object, status: number, expected: object): Row => ({
      says,
      send: ['PATCH', `/v0/rules/${body.data.id}`, { body: { rule: changes } }],
      status,
      body: expected,
    });
    const { updated_at: _updated, ...unmoved } = body.data;
    await answers(t, { send }, [
      patch('ports stay', { port_type: null }, 422, refused({ port_type: blank })),
      patch('protocol stays', { port_range: null }, 422, refused({ port_range: blank })),
      patch('null', { destination: null }, 422, refused({ destination: blank })),
      patch('empty', { destination: '' }, 422, refused({ destination: blank })),
      patch('null', { action: null }, 422, refused({ action: blank })),
      patch('empty', { action: '' }, 422, refused({ action: blank })),
      patch('unknown user', { user_id: UNKNOWN }, 422, refused({ user_id: ['does not exist'] })),
      {
        says: 'unknown id',
        send: ['PATCH', `/v0/rules/${UNKNOWN}`, { body: { rule: { action: 'x' } } }],
        status: 404,
      },
    ]);
    const other = await send('PATCH', `/v0/rules/${body.data.id}`, {
      body: { rule: { port_range: '8-9' } },
    });
    t.like(other.body.data, { ...unmoved, port_range: '8 - 9' });
    const cleared = await send('PATCH', `/v0/rules/${body.data.id}`, {
      body: { rule: { port_range: '', port_type: null } },
    });
    t.like(cleared.body.data, { ...unmoved, port_range: null, port_type: null });
  });

  test(`${kind}: overlapping rules are refused`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    const { body } = await send('POST', '/v0/users', {
      body: { user: { email: 'ann@example.com' } },
    });
    const ann = body.data.id;
    const tcp = (port_range: unknown): object => ({ port_type: 'tcp', port_range });
    const table: [says: string, rule: object, isRefused: boolean][] = [
      ['the first', { destination: '10.1.0.0/16' }, false],
      ['the same', { destination: '10.1.0.0/16' }, true],
      ['host bits do not count', { destination: '10.1.255.3/16' }, true],
      ['inside', { destination: '10.1.2.3' }, true],
      ['around', { destination: '10.0.0.0/8' }, true],
      ['everything', { destination: '0.0.0.0/0' }, true],
      ['beside', { destination: '10.2.0.0/16' }, false],
      ['another action', { destination: '10.1.0.0/16', action: 'accept' }, false],
      ['another scope', { destination: '10.1.0.0/16', user_id: ann }, false],
      ['another user', { destination: '10.1.0.0/16', user_id: adminId }, false],
      ['the same user', { destination: '10.1.9.9', user_id: ann }, true],
      ['another family', { destination: '::/0' }, false],
      ['the same family', { destination: 'fd00::1' }, true],
      ['ported beside portless', { destination: '10.1.0.0/16', ...tcp('80 - 90') }, false],
      ['the same ports', { destination: '10.1.0.0/16', ...tcp('80 - 90') }, true],
      ['common ports', { destination: '10.1.3.0/24', ...tcp('90 - 99') }, true],
      ['a port inside', { destination: '10.0.0.0/8', ...tcp(85) }, true],
      ['disjoint ports', { destination: '10.1.0.0/16', ...tcp('91 - 99') }, false],
      [
        'another protocol',
        { destination: '10.1.0.0/16', port_type: 'udp', port_range: '80 - 90' },
        false,
      ],
    ];
    await answers(
      t,
      { send },
      table.map(([says, rule, isRefused]) => ({
        says,
        send: ['POST', '/v0/rules', { body: { rule } }],
        status: isRefused ? 422 : 201,
        ...(isRefused ? { body: overlaps } : {}),
      })),
    );
  });

  test(`${kind}: an update may overlap itself but no other`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    const make = async (rule: object): Promise<string> =>
      (await send('POST', '/v0/rules', { body: { rule } })).body.data.id;
    const one = await make({ destination: '10.1.0.0/16' });
    const two = await make({ destination: '10.2.0.0/16' });
    const mine = await make({ destination: '10.1.0.0/16', user_id: adminId });
    const patch = (says: string, id: string, rule: object, status: number): Row => ({
      says,
      send: ['PATCH', `/v0/rules/${id}`, { body: { rule } }],
      status,
      ...(status === 422 ? { body: overlaps } : {}),
    });
    await answers(t, { send }, [
      patch('itself', one, { destination: '10.1.0.0/17' }, 200),
      patch('another', one, { destination: '10.2.3.0/24' }, 422),
      patch('into another scope', mine, { user_id: null }, 422),
      patch('into another action', two, { destination: '10.1.0.0/17', action: 'accept' }, 200),
      patch('and back', two, { action: 'drop' }, 422),
      patch('into a free scope', one, { user_id: adminId, destination: '10.9.0.0/16' }, 200),
      patch('now there is room', mine, { user_id: null }, 200),
    ]);
  });

  test(`${kind}: of overlapping rules at one instant one is made`, async (t) => {
    const one = await openServer(t, kind);
    const two = await serverOn(one.database);
    for (const user_id of [null, one.adminId]) {
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, i) => {
          const rule = { destination: `10.0.0.${i}/${8 + i}`, user_id };
          return (i % 2 === 0 ? one : two).send('POST', '/v0/rules', { body: { rule } });
        }),
      );
      t.is(results.filter(({ status }) => status === 201).length, 1);
      for (const { status, body } of results) if (status !== 201) t.deepEqual(body, overlaps);
    }
  });

  test(`${kind}: writes that share a transaction answer each for itself`, async (t) => {
    const { send } = await openServer(t, kind);
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        send('POST', '/v0/rules', {
          body: { rule: { destination: i % 4 === 0 ? 'x' : `10.0.${i}.0/24` } },
        }),
      ),
    );
    for (const [i, { status, body }] of results.entries()) {
      t.is(status, i % 4 === 0 ? 422 : 201);
      if (status === 201) t.is(body.data.destination, `10.0.${i}.0/24`);
    }
    t.is((await send('GET', '/v0/rules')).body.data.length, 30);
  });
}

test('no rule whatsoever makes a 5xx, and a refused one changes nothing', async (t) => {
  const { send, database, log, adminId } = await openServer(t, 'sqlite');
  const field = fc.constantFrom(
    'action',
    'destination',
    'port_type',
    'port_range',
    'user_id',
    '__proto__',
  );
  const text = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.ipV4Extended(),
    fc.ipV6(),
    fc.constantFrom('accept', 'tcp', '80', '80-90', '10.0.0.0/8', '::/0', adminId, '\0', '\udfff'),
  );
  const value = fc.oneof(fc.jsonValue({ maxDepth: 5 }), text, fc.double(), fc.integer());
  let made = 0;
  await fc.assert(
    fc.asyncProperty(fc.dictionary(field, value), async (rule) => {
      const { status } = await send('POST', '/v0/rules', { body: { rule } });
      t.true([201, 422].includes(status), String(status));
      if (status === 201) made += 1;
      t.is(await database.models.Rule.count(), made);
    }),
    { numRuns: 200 },
  );
  t.deepEqual(
    log.filter(({ level }) => level === 'error'),
    [],
  );
});
