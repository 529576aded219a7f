// Devices over HTTP: docs/api.md#devices, sentence by sentence. What is about addresses and about
// many devices at once is in checks.test.ts.

import test from 'ava';
import fc from 'fast-check';
import { recordStatus, registerGateway } from '../../../../models/index.ts';
import {
  answers,
  newKey,
  openServer,
  refused,
  type Row,
  allSurfaces,
} from '../../../support/api/server.ts';
import { anyCharacter } from '../../../support/api/characters.ts';

const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const blank = ["can't be blank"];
const invalid = ['is invalid'];
const taken = ['has already been taken'];
const notPresent = ['must not be present'];
const KEY = /^[A-Za-z0-9+/]{43}=$/;

for (const kind of allSurfaces()) {
  test(`${kind}: a device is made of an owner and a key`, async (t) => {
    const { send, adminId, services } = await openServer(t, kind);
    const device = { user_id: adminId.toUpperCase(), public_key: newKey() };
    const made = await send('POST', '/v0/devices', { body: { device } });
    t.is(made.status, 201);
    const { id, name, preshared_key, inserted_at } = made.body.data;
    t.is(made.headers['location'], `/v0/devices/${id}`);
    t.regex(name, /^[a-z-]{1,15}$/);
    t.regex(preshared_key, KEY);
    t.deepEqual(made.body.data, {
      id,
      user_id: adminId,
      name,
      description: null,
      public_key: device.public_key,
      preshared_key,
      server_public_key: services.serverPublicKey,
      ipv4: '100.64.0.2',
      ipv6: 'fd00::2',
      use_default_allowed_ips: true,
      use_default_dns: true,
      use_default_endpoint: true,
      use_default_mtu: true,
      use_default_persistent_keepalive: true,
      allowed_ips: ['0.0.0.0/0', '::/0'],
      dns: ['1.1.1.1', '1.0.0.1'],
      endpoint: '127.0.0.1:51820',
      mtu: 1280,
      persistent_keepalive: 25,
      limit_down: null,
      limit_up: null,
      routes: [],
      enabled: true,
      ends_at: null,
      disabled_by: null,
      latest_handshake: null,
      remote_ip: null,
      rx_bytes: null,
      tx_bytes: null,
      inserted_at,
      updated_at: inserted_at,
    });
    t.deepEqual((await send('GET', `/v0/devices/${id.toUpperCase()}`)).body, made.body);
    t.deepEqual((await send('GET', '/v0/devices')).body, { data: [made.body.data] });
    t.is((await send('DELETE', `/v0/devices/${id}`)).status, 204);
    for (const method of ['GET', 'DELETE'])
      t.is((await send(method, `/v0/devices/${id}`)).status, 404);
    t.deepEqual((await send('GET', '/v0/devices')).body, { data: [] });
  });

  test(`${kind}: every field may be given, and is shown as it is kept`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    const keys = { public_key: newKey(), preshared_key: Buffer.alloc(32).toString('base64') };
    const device = {
      user_id: adminId,
      name: ' Ann’s 📱 ',
      description: '  old\none ',
      ...keys,
      ipv4: ' 100.100.0.9 ',
      ipv6: ' FD00::00:9 ',
      use_default_allowed_ips: false,
      use_default_dns: 'false',
      use_default_endpoint: '0',
      use_default_mtu: false,
      use_default_persistent_keepalive: false,
      allowed_ips: ['10.1.2.3/8', '9.9.9.9/32', 'FD00::1'],
      dns: [' 9.9.9.9', 'FD00::53', 'dns.example'],
      endpoint: ' vpn.example.com:443 ',
      mtu: '1400',
      persistent_keepalive: 0,
    };
    const made = await send('POST', '/v0/devices', { body: { device } });
    t.is(made.status, 201, made.text);
    const shown = {
      ...keys,
      name: 'Ann’s 📱',
      description: 'old\none',
      ipv4: '100.100.0.9',
      ipv6: 'fd00::9',
      use_default_dns: false,
      use_default_endpoint: false,
      allowed_ips: ['10.1.2.3/8', '9.9.9.9/32', 'fd00::1'],
      dns: ['9.9.9.9', 'fd00::53', 'dns.example'],
      endpoint: 'vpn.example.com:443',
      mtu: 1400,
      persistent_keepalive: 0,
    };
    t.like(made.body.data, shown);
    const path = `/v0/devices/${made.body.data.id}`;
    t.deepEqual((await send('GET', path)).body, made.body);
    // Sent back as it was read, it stays as it is.
    const same = await send('PUT', path, { body: { device: made.body.data } });
    t.deepEqual(same.body, made.body);
    const changes = {
      name: 'other',
      description: null,
      public_key: newKey(),
      preshared_key: newKey(),
      ipv4: '100.64.0.7',
      ipv6: 'fd00::7',
      mtu: null,
      dns: null,
      allowed_ips: [],
    };
    const changed = await send('PATCH', path, {
      body: { device: { ...changes, user_id: UNKNOWN, rx_bytes: 5 } },
    });
    t.is(changed.status, 200, changed.text);
    t.deepEqual(changed.body.data, {
      ...made.body.data,
      ...changes,
      dns: [],
      updated_at: changed.body.data.updated_at,
    });
    t.true(changed.body.data.updated_at > made.body.data.updated_at);
    t.deepEqual((await send('GET', path)).body, changed.body);
  });

  test(`${kind}: every error of every field is reported at once`, async (t) => {
    const { send, adminId, services } = await openServer(t, kind);
    const present = { user_id: adminId, public_key: newKey(), name: 'laptop' };
    await send('POST', '/v0/devices', { body: { device: present } });
    const base = { user_id: adminId, public_key: newKey() };
    const create = (says: string, fields: object, errors: object): Row => ({
      says,
      send: ['POST', '/v0/devices', { body: { device: { ...base, ...fields } } }],
      status: 422,
      body: refused(errors),
    });
    const both = ['should be 44 character(s)', 'must be a base64-encoded string'];
    const key = (says: string, value: unknown, ...messages: string[]): Row[] => [
      create(`public_key: ${says}`, { public_key: value }, { public_key: messages }),
      create(`preshared_key: ${says}`, { preshared_key: value }, { preshared_key: messages }),
    ];
    const bytes = (length: number): string => Buffer.alloc(length, 7).toString('base64');
    const canonical = newKey();
    const sloppy = `${canonical.slice(0, 42)}${canonical[42] === 'A' ? 'B' : nextLetter(canonical[42]!)}=`;
    await answers(t, { send }, [
      {
        says: 'nothing',
        send: ['POST', '/v0/devices', { body: { device: {} } }],
        status: 422,
        body: refused({ user_id: blank, public_key: blank }),
      },
      create('no owner', { user_id: null }, { user_id: blank }),
      create('no owner', { user_id: '' }, { user_id: blank }),
      create('unknown owner', { user_id: UNKNOWN }, { user_id: ['does not exist'] }),
      create('malformed owner', { user_id: 'ann@example.com' }, { user_id: ['does not exist'] }),
      create('no text', { user_id: 5 }, { user_id: invalid }),
      ...key('both', 'x', ...both),
      ...key('44 characters that are no base64', '!'.repeat(44), 'must be a base64-encoded string'),
      ...key('URL alphabet', newKey().slice(0, 41) + '_-=', 'must be a base64-encoded string'),
      ...key('short base64', 'AAAA', 'should be 44 character(s)'),
      ...key('no padding', canonical.slice(0, 43), ...both),
      ...key('space around', ` ${canonical}`, ...both),
      ...key('not the text of its bytes', sloppy, 'must be a base64-encoded string'),
      ...key('33 bytes', bytes(33), 'is not a valid key'),
      ...key('31 bytes', bytes(31), 'is not a valid key'),
      ...key('no text', 5, 'is invalid'),
      ...key('NUL', `${'A'.repeat(42)}\0=`, 'is invalid'),
      create('blank', { public_key: '' }, { public_key: blank }),
      create('blank', { public_key: '   ' }, { public_key: blank }),
      create(
        'low order',
        { public_key: Buffer.alloc(32).toString('base64') },
        { public_key: ['is not a valid key'] },
      ),
      create('taken', { public_key: present.public_key }, { public_key: taken }),
      create('the gateway’s own', { public_key: services.serverPublicKey }, { public_key: taken }),
      create('name taken', { name: ' laptop ' }, { name: taken }),
      create('spaces', { name: '  ' }, { name: ['should be at least 1 character(s)'] }),
      create('long', { name: 'x'.repeat(256) }, { name: ['should be at most 255 character(s)'] }),
      create('no text', { name: 5 }, { name: invalid }),
      create(
        'long',
        { description: 'x'.repeat(2049) },
        { description: ['should be at most 2048 character(s)'] },
      ),
      create('lone surrogate', { description: '\ud800' }, { description: invalid }),
      create(
        'no address',
        { ipv4: 'fd00::1', ipv6: '100.64.0.9' },
        { ipv4: invalid, ipv6: invalid },
      ),
      create(
        'no flag',
        { use_default_dns: 1, use_default_mtu: null },
        { use_default_dns: invalid, use_default_mtu: blank },
      ),
      create(
        'all at once',
        {
          user_id: UNKNOWN,
          public_key: present.public_key,
          name: '  ',
          preshared_key: 'x',
          ipv4: '1.1.1.1',
          mtu: 'x',
          dns: ['a b'],
          use_default_endpoint: false,
        },
        {
          user_id: ['does not exist'],
          public_key: taken,
          name: ['should be at least 1 character(s)'],
          preshared_key: both,
          ipv4: ['is not in the CIDR 100.64.0.0/10'],
          mtu: invalid,
          dns: ['a b is not a valid FQDN', 'must not be present'],
          endpoint: blank,
        },
      ),
    ]);
    const good = { ...base, name: '😀'.repeat(255), description: '😀'.repeat(2048) };
    const made = await send('POST', '/v0/devices', { body: { device: good } });
    t.is(made.status, 201, made.text);
    t.like(made.body.data, { name: good.name, description: good.description });
    t.is((await send('GET', '/v0/devices')).body.data.length, 2);
  });

  test(`${kind}: names are unique per owner, by code point`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    const { body } = await send('POST', '/v0/users', { body: { user: { email: 'a@b.c' } } });
    const make = (user_id: string, name: string): ReturnType<typeof send> =>
      send('POST', '/v0/devices', { body: { device: { user_id, name, public_key: newKey() } } });
    const first = await make(adminId, 'Laptop');
    for (const name of ['laptop', 'Läptop', 'La\u0308ptop', 'Laptop.'])
      t.is((await make(adminId, name)).status, 201, name);
    t.is((await make(body.data.id, 'Laptop')).status, 201, 'another owner');
    t.deepEqual((await make(adminId, 'Laptop')).body, refused({ name: taken }));
    const path = `/v0/devices/${first.body.data.id}`;
    const patch = (name: unknown): ReturnType<typeof send> =>
      send('PATCH', path, { body: { device: { name } } });
    t.deepEqual((await patch('laptop')).body, refused({ name: taken }));
    t.is((await patch('Laptop')).body.data.updated_at, first.body.data.updated_at);
    t.deepEqual((await patch(null)).body, refused({ name: blank }));
    t.deepEqual((await patch('')).body, refused({ name: blank }));
    t.deepEqual((await patch(' ')).body, refused({ name: ['should be at least 1 character(s)'] }));
    t.is((await patch('LAPTOP')).body.data.name, 'LAPTOP');
  });

  test(`${kind}: keys are kept unique and preshared keys are not`, async (t) => {
    const { send, adminId, services } = await openServer(t, kind);
    const preshared_key = newKey();
    const make = async (): Promise<{ id: string; public_key: string; updated_at: string }> => {
      const device = { user_id: adminId, public_key: newKey(), preshared_key };
      return (await send('POST', '/v0/devices', { body: { device } })).body.data;
    };
    const [one, two] = [await make(), await make()];
    const patch = (device: object): ReturnType<typeof send> =>
      send('PATCH', `/v0/devices/${one.id}`, { body: { device } });
    t.deepEqual((await patch({ public_key: two.public_key })).body, refused({ public_key: taken }));
    t.deepEqual(
      (await patch({ public_key: services.serverPublicKey })).body,
      refused({ public_key: taken }),
    );
    t.deepEqual((await patch({ public_key: null })).body, refused({ public_key: blank }));
    t.deepEqual((await patch({ preshared_key: null })).body, refused({ preshared_key: blank }));
    t.deepEqual((await patch({ preshared_key: '' })).body, refused({ preshared_key: blank }));
    const same = await patch({ public_key: one.public_key, preshared_key });
    t.is(same.body.data.updated_at, one.updated_at);
  });

  test(`${kind}: the five settings follow their flags`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    const own = {
      allowed_ips: ['10.0.0.0/8'],
      dns: ['9.9.9.9'],
      endpoint: 'own.example',
      mtu: 1400,
      persistent_keepalive: 5,
    };
    const defaults = {
      allowed_ips: ['0.0.0.0/0', '::/0'],
      dns: ['1.1.1.1', '1.0.0.1'],
      endpoint: '127.0.0.1:51820',
      mtu: 1280,
      persistent_keepalive: 25,
    };
    const flags = (value: unknown): object =>
      Object.fromEntries(Object.keys(own).map((name) => [`use_default_${name}`, value]));
    const create = (fields: object): ReturnType<typeof send> =>
      send('POST', '/v0/devices', {
        body: { device: { user_id: adminId, public_key: newKey(), ...fields } },
      });
    const everyField = Object.fromEntries(Object.keys(own).map((name) => [name, notPresent]));
    t.deepEqual((await create(own)).body, refused(everyField));
    t.deepEqual((await create({ ...own, ...flags(true) })).body, refused(everyField));
    const nothing = {
      allowed_ips: [],
      dns: null,
      endpoint: '',
      mtu: null,
      persistent_keepalive: '',
    };
    t.like((await create({ ...flags(true), ...nothing })).body.data, defaults);
    t.deepEqual((await create({ ...flags(false) })).body, refused({ endpoint: blank }));
    t.deepEqual((await create({ ...flags(false), ...nothing })).body, refused({ endpoint: blank }));
    t.deepEqual(
      (await create({ use_default_endpoint: false, endpoint: ' ' })).body,
      refused({ endpoint: blank }),
    );
    const bare = await create({ ...flags(false), endpoint: 'own.example' });
    t.like(bare.body.data, {
      allowed_ips: [],
      dns: [],
      endpoint: 'own.example',
      mtu: null,
      persistent_keepalive: null,
    });
    t.deepEqual(
      (await create({ use_default_mtu: 'x', mtu: 9 })).body,
      refused({ use_default_mtu: invalid, mtu: ['must be greater than or equal to 576'] }),
    );

    const { id } = (await create({ ...flags(false), ...own })).body.data;
    const patch = async (
      device: object,
    ): Promise<{ body: { data: Record<string, unknown> }; status: number }> =>
      send('PATCH', `/v0/devices/${id}`, { body: { device } });
    t.like((await patch(flags(true))).body.data, { ...defaults, use_default_dns: true });
    t.deepEqual((await patch(own)).body as object, refused(everyField), 'a flag that stays true');
    t.deepEqual((await patch({ ...flags(true), ...own })).body as object, refused(everyField));
    t.like((await patch(flags(false))).body.data, own, 'what was hidden shows again');
    t.deepEqual((await patch({ endpoint: null })).body as object, refused({ endpoint: blank }));
    t.deepEqual((await patch({ endpoint: '' })).body as object, refused({ endpoint: blank }));
    t.deepEqual(
      (await patch({ use_default_dns: null })).body as object,
      refused({ use_default_dns: blank }),
    );
    t.like(
      (await patch({ mtu: '', persistent_keepalive: null, dns: '', allowed_ips: null })).body.data,
      {
        mtu: null,
        persistent_keepalive: null,
        dns: [],
        allowed_ips: [],
        endpoint: 'own.example',
      },
    );
    t.like((await patch({ use_default_endpoint: true })).body.data, {
      endpoint: defaults.endpoint,
    });
    t.like((await patch({ use_default_endpoint: false, endpoint: 'x' })).body.data, {
      endpoint: 'x',
    });
  });

  test(`${kind}: limits of the settings`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    const bad = (name: string, value: unknown, ...messages: string[]): Row => ({
      says: `${name} ${JSON.stringify(value)}`,
      send: [
        'POST',
        '/v0/devices',
        {
          body: {
            device: {
              user_id: adminId,
              public_key: newKey(),
              [`use_default_${name}`]: false,
              [name]: value,
            },
          },
        },
      ],
      status: 422,
      body: refused({ [name]: messages }),
    });
    await answers(t, { send }, [
      bad('mtu', 575, 'must be greater than or equal to 576'),
      bad('mtu', '1501', 'must be less than or equal to 1500'),
      bad('mtu', 1280.5, 'is invalid'),
      bad('persistent_keepalive', -1, 'must be greater than or equal to 0'),
      bad('persistent_keepalive', 121, 'must be less than or equal to 120'),
      bad(
        'endpoint',
        'a b:0',
        'a b is not a valid FQDN',
        'port is not a number between 0 and 65535',
      ),
      bad('endpoint', 'https://a.b', 'https://a.b is not a valid FQDN'),
      bad('endpoint', 5, 'is invalid'),
      bad('dns', ['1.1.1.1:53'], 'setting port is not allowed'),
      bad('dns', ['1.1.1.1/32'], '1.1.1.1/32 is not a valid FQDN'),
      bad('dns', ['a', 'a'], 'should not contain duplicates'),
      bad('dns', 'a', 'is invalid'),
      bad('allowed_ips', ['10.0.0.0/33'], 'is invalid'),
      bad('allowed_ips', ['::1', '0::1'], 'should not contain duplicates'),
      bad('allowed_ips', '10.0.0.0/8', 'is invalid'),
    ]);
  });

  test(`${kind}: defaults are derived when they are read`, async (t) => {
    const settings = {
      WIREGUARD_MTU: '1420',
      WIREGUARD_PORT: '5000',
      EXTERNAL_URL: 'https://[fd00::9]/',
    };
    const { send, adminId } = await openServer(t, kind, settings);
    const device = { user_id: adminId, public_key: newKey(), use_default_dns: false, dns: ['a.b'] };
    const { body } = await send('POST', '/v0/devices', { body: { device } });
    t.like(body.data, { mtu: 1420, endpoint: '[fd00::9]:5000', dns: ['a.b'] });
    const configuration = {
      default_client_mtu: 1300,
      default_client_endpoint: 'vpn.example',
      default_client_dns: [],
      default_client_allowed_ips: ['10.0.0.0/8'],
      default_client_persistent_keepalive: 0,
    };
    await send('PATCH', '/v0/configuration', { body: { configuration } });
    const now = {
      ...body.data,
      mtu: 1300,
      endpoint: 'vpn.example',
      allowed_ips: ['10.0.0.0/8'],
      persistent_keepalive: 0,
    };
    t.deepEqual((await send('GET', `/v0/devices/${body.data.id}`)).body.data, now);
    t.deepEqual((await send('GET', '/v0/devices')).body.data, [now]);
  });

  test(`${kind}: sampled status is shown and moves nothing else`, async (t) => {
    const { send, adminId, database } = await openServer(t, kind);
    const device = { user_id: adminId, public_key: newKey() };
    const { body } = await send('POST', '/v0/devices', { body: { device } });
    const { id } = body.data;
    const gatewayId = UNKNOWN;
    await registerGateway(database, { id: gatewayId, name: 'g', startedAt: new Date() });
    const latestHandshake = new Date('2026-11-20T10:00:00.123Z');
    const report = {
      deviceId: id,
      latestHandshake,
      remoteIp: '198.51.100.7',
      remotePort: 5,
      rxBytes: 9_007_199_254_000_000,
      txBytes: 7,
    };
    await recordStatus(database, gatewayId, [report]);
    const seen = {
      ...body.data,
      latest_handshake: '2026-11-20T10:00:00.123000Z',
      remote_ip: '198.51.100.7',
      rx_bytes: 9_007_199_254_000_000,
      tx_bytes: 7,
    };
    t.deepEqual((await send('GET', `/v0/devices/${id}`)).body.data, seen);
    const patched = await send('PATCH', `/v0/devices/${id}`, { body: { device: {} } });
    t.deepEqual(patched.body.data, seen);
    t.deepEqual((await send('GET', '/v0/devices')).body.data, [seen]);
    await recordStatus(database, gatewayId, [{ ...report, rxBytes: 0, txBytes: 1 }]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    t.is((await send('GET', '/v0/devices')).body.data[0].tx_bytes, 8, 'a list is no older');
    t.is((await send('DELETE', `/v0/devices/${id}`)).status, 204);
  });
}

function nextLetter(letter: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  return letters[(letters.indexOf(letter) + 1) % 64]!;
}

test('no device whatsoever makes a 5xx, and a refused one changes nothing', async (t) => {
  const server = await openServer(t, 'sqlite', { MAX_DEVICES_PER_USER: '100' });
  const { send, database, log, adminId } = server;
  const { body } = await send('POST', '/v0/devices', {
    body: { device: { user_id: adminId, public_key: newKey() } },
  });
  const fields = Object.keys(body.data);
  const text = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.base64String({ minLength: 44, maxLength: 44 }),
    fc.constantFrom(
      adminId,
      newKey(),
      '100.64.0.5',
      'fd00::5',
      'true',
      '1280',
      'a.b:5',
      '\0',
      '\ud800',
      UNKNOWN,
    ),
  );
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 5 }),
    text,
    fc.double(),
    fc.boolean(),
    fc.array(text),
  );
  const record = fc.dictionary(fc.constantFrom(...fields, '__proto__', 'constructor'), value);
  const valid = fc.constantFrom({}, { user_id: adminId });
  let made = 1;
  await fc.assert(
    fc.asyncProperty(record, valid, fc.boolean(), async (garbage, base, isUpdate) => {
      const device = { ...base, ...garbage };
      const [method, path] = isUpdate
        ? ['PATCH', `/v0/devices/${body.data.id}`]
        : ['POST', '/v0/devices'];
      const { status } = await send(method, path, { body: { device } });
      t.true([200, 201, 422].includes(status), `${status} ${JSON.stringify(device)}`);
      if (status === 201) made += 1;
      t.is(await database.models.Device.count(), made);
    }),
    { numRuns: 200 },
  );
  t.deepEqual(
    log.filter(({ level }) => level === 'error'),
    [],
  );
});
