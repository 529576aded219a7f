// Addresses, limits, and many devices at once: docs/api.md#devices.

import test from 'ava';
import {
  type Answer,
  answers,
  newKey,
  openServer,
  refused,
  type Row,
  serverOn,
  surfaces,
} from '../../../support/api/server.ts';
import { fakeObserved } from '../../../support/observe/fake-gateway.ts';

const blank = ["can't be blank"];
const invalid = ['is invalid'];
const taken = ['has already been taken'];
const reserved = ['is reserved'];
const LIMIT = 'Maximum device limit reached. Remove an existing device before creating a new one.';

type Send = Awaited<ReturnType<typeof openServer>>['send'];

const create = (send: Send, user_id: string, fields: object = {}): Promise<Answer> =>
  send('POST', '/v0/devices', { body: { device: { user_id, public_key: newKey(), ...fields } } });

for (const kind of surfaces()) {
  test(`${kind}: an address lies in its network and is free`, async (t) => {
    const { send, adminId } = await openServer(t, kind);
    const first = await create(send, adminId, { ipv4: '100.64.0.50', ipv6: 'fd00::50' });
    const outside = ['is not in the CIDR 100.64.0.0/10'];
    const outside6 = ['is not in the CIDR fd00::/106'];
    const table: [fields: object, errors: object][] = [
      [
        { ipv4: '100.63.255.255', ipv6: 'fd00::40:0' },
        { ipv4: outside, ipv6: outside6 },
      ],
      [
        { ipv4: '100.128.0.0', ipv6: 'fcff::1' },
        { ipv4: outside, ipv6: outside6 },
      ],
      [
        { ipv4: '100.64.0.0', ipv6: 'fd00::' },
        { ipv4: reserved, ipv6: reserved },
      ],
      [
        { ipv4: '100.64.0.1', ipv6: 'fd00::1' },
        { ipv4: reserved, ipv6: reserved },
      ],
      [
        { ipv4: '100.127.255.255', ipv6: 'fd00::3f:ffff' },
        { ipv4: reserved, ipv6: reserved },
      ],
      [
        { ipv4: '100.64.0.50', ipv6: 'fd00:0::50' },
        { ipv4: taken, ipv6: taken },
      ],
      [
        { ipv4: '100.64.0.9/32', ipv6: 'fd00::9/128' },
        { ipv4: invalid, ipv6: invalid },
      ],
      [
        { ipv4: 5, ipv6: {} },
        { ipv4: invalid, ipv6: invalid },
      ],
    ];
    const path = `/v0/devices/${(await create(send, adminId)).body.data.id}`;
    for (const [fields, errors] of table) {
      t.deepEqual(
        (await create(send, adminId, fields)).body,
        refused(errors),
        JSON.stringify(fields),
      );
      const patched = await send('PATCH', path, { body: { device: fields } });
      t.deepEqual(patched.body, refused(errors), JSON.stringify(fields));
    }
    const rows: Row[] = [
      {
        says: 'null',
        send: ['PATCH', path, { body: { device: { ipv4: null, ipv6: '' } } }],
        status: 422,
        body: refused({ ipv4: blank, ipv6: blank }),
      },
      {
        says: 'its own',
        send: [
          'PATCH',
          `/v0/devices/${first.body.data.id}`,
          { body: { device: { ipv4: '100.64.0.50', ipv6: 'fd00::50' } } },
        ],
        status: 200,
        body: first.body,
      },
      {
        says: 'the edges',
        send: [
          'PATCH',
          path,
          { body: { device: { ipv4: '100.127.255.254', ipv6: 'fd00::3f:fffe' } } },
        ],
        status: 200,
      },
      {
        says: 'null on create is left out',
        send: [
          'POST',
          '/v0/devices',
          { body: { device: { user_id: adminId, public_key: newKey(), ipv4: null, ipv6: '' } } },
        ],
        status: 201,
      },
    ];
    await answers(t, { send }, rows);
  });

  test(`${kind}: addresses go round the network`, async (t) => {
    const settings = { WIREGUARD_IPV4_NETWORK: '10.9.0.0/29', WIREGUARD_IPV4_ADDRESS: '10.9.0.3' };
    const { send, adminId, database } = await openServer(t, kind, settings);
    const next = async (from: Send = send): Promise<string> =>
      (await create(from, adminId)).body.data?.ipv4;
    const made = [await next(), await next(), await next()];
    t.deepEqual(made, ['10.9.0.1', '10.9.0.2', '10.9.0.4']);
    // Another process goes on behind the highest address, and round.
    const other = await serverOn(database, settings);
    t.is(await next(other.send), '10.9.0.5');
    t.is(await next(), '10.9.0.6');
    const full = await create(send, adminId);
    t.is(full.status, 422);
    t.deepEqual(full.body, refused({ base: ['CIDR 10.9.0.0/29 is exhausted'] }));
    const beside = await create(send, adminId, { name: ' ' });
    t.deepEqual(
      beside.body,
      refused({
        base: ['CIDR 10.9.0.0/29 is exhausted'],
        name: ['should be at least 1 character(s)'],
      }),
    );
    const list = (await send('GET', '/v0/devices')).body.data as { id: string; ipv4: string }[];
    const freed = list.find(({ ipv4 }) => ipv4 === '10.9.0.2')!;
    await send('DELETE', `/v0/devices/${freed.id}`);
    t.is(await next(other.send), '10.9.0.2');
    t.is((await create(other.send, adminId)).status, 422);
  });

  test(`${kind}: networks without room, and an IPv6 network that is wide`, async (t) => {
    const tiny = await openServer(t, kind, {
      WIREGUARD_IPV4_NETWORK: '10.9.0.0/30',
      WIREGUARD_IPV4_ADDRESS: '10.9.0.1',
      WIREGUARD_IPV6_NETWORK: 'fd01::/126',
      WIREGUARD_IPV6_ADDRESS: 'fd01::1',
    });
    const only = await create(tiny.send, tiny.adminId);
    t.like(only.body.data, { ipv4: '10.9.0.2', ipv6: 'fd01::2' });
    t.deepEqual(
      (await create(tiny.send, tiny.adminId)).body,
      refused({ base: ['CIDR 10.9.0.0/30 is exhausted', 'CIDR fd01::/126 is exhausted'] }),
    );
    const wide = await serverOn(tiny.database, {
      WIREGUARD_IPV6_NETWORK: 'fd02::/48',
      WIREGUARD_IPV6_ADDRESS: 'fd02::1',
    });
    t.is((await create(wide.send, wide.adminId)).body.data.ipv6, 'fd02::2');
    const last = await create(wide.send, wide.adminId, { ipv6: 'fd02::3ff:ffff:ffff:ffff' });
    t.is(last.status, 201, 'the last address of the first /70');
    const beyond = await create(wide.send, wide.adminId, { ipv6: 'fd02:0:0:9::9' });
    t.is(beyond.status, 201, 'inside the network');
    const other = await serverOn(tiny.database, {
      WIREGUARD_IPV6_NETWORK: 'fd02::/48',
      WIREGUARD_IPV6_ADDRESS: 'fd02::1',
    });
    t.is(
      (await create(other.send, other.adminId)).body.data.ipv6,
      'fd02::3',
      'never beyond the first /70',
    );
  });

  test(`${kind}: a family that is switched off has no addresses`, async (t) => {
    const on = await openServer(t, kind);
    const before = await create(on.send, on.adminId);
    const off = await serverOn(on.database, { WIREGUARD_IPV6_ENABLED: 'false' });
    const { send, adminId } = off;
    t.is((await create(send, adminId)).body.data.ipv6, null);
    t.is((await create(send, adminId, { ipv6: null })).status, 201);
    t.is((await create(send, adminId, { ipv6: '' })).status, 201);
    for (const ipv6 of ['fd00::9', 'x', 5])
      t.deepEqual((await create(send, adminId, { ipv6 })).body, refused({ ipv6: invalid }));
    const path = `/v0/devices/${before.body.data.id}`;
    t.is((await send('GET', path)).body.data.ipv6, null);
    const nothing = await send('PATCH', path, { body: { device: { ipv6: null } } });
    t.deepEqual(nothing.body.data, {
      ...before.body.data,
      ipv6: null,
      server_public_key: off.services.serverPublicKey,
    });
    t.deepEqual(
      (await send('PATCH', path, { body: { device: { ipv6: 'fd00::9' } } })).body,
      refused({ ipv6: invalid }),
    );
    t.is((await on.send('GET', path)).body.data.ipv6, before.body.data.ipv6, 'it is kept');
  });

  test(`${kind}: each user has at most so many devices`, async (t) => {
    const { send, adminId } = await openServer(t, kind, { MAX_DEVICES_PER_USER: '3' });
    for (let i = 0; i < 3; i += 1) t.is((await create(send, adminId)).status, 201);
    t.deepEqual((await create(send, adminId)).body, refused({ base: [LIMIT] }));
    t.deepEqual(
      (await create(send, adminId, { mtu: 5 })).body,
      refused({
        base: [LIMIT],
        mtu: ['must be greater than or equal to 576', 'must not be present'],
      }),
    );
    const { body } = await send('POST', '/v0/users', { body: { user: { email: 'a@b.c' } } });
    t.is((await create(send, body.data.id)).status, 201, 'another user');
    const [first] = (await send('GET', '/v0/devices')).body.data;
    await send('DELETE', `/v0/devices/${first.id}`);
    t.is((await create(send, adminId)).status, 201);
    const none = await openServer(t, kind, { MAX_DEVICES_PER_USER: '0' });
    t.deepEqual((await create(none.send, none.adminId)).body, refused({ base: [LIMIT] }));
  });

  test(`${kind}: of fifty devices at one instant those get an address for whom there is one`, async (t) => {
    // 64 addresses: 24 are taken or reserved.
    const settings = {
      MAX_DEVICES_PER_USER: '100',
      WIREGUARD_IPV4_NETWORK: '10.9.0.0/26',
      WIREGUARD_IPV4_ADDRESS: '10.9.0.1',
    };
    const one = await openServer(t, kind, settings);
    const two = await serverOn(one.database, settings);
    for (let i = 0; i < 21; i += 1)
      await create(one.send, one.adminId, { ipv4: `10.9.0.${i * 2 + 10}` });
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, i) => create((i % 2 === 0 ? one : two).send, one.adminId)),
    );
    const made = results.filter(({ status }) => status === 201);
    t.is(made.length, 40);
    t.is(new Set(made.map(({ body }) => body.data.ipv4)).size, 40);
    t.is(new Set(made.map(({ body }) => body.data.ipv6)).size, 40);
    for (const { status, body } of results)
      if (status !== 201)
        t.deepEqual([status, body], [422, refused({ base: ['CIDR 10.9.0.0/26 is exhausted'] })]);
    const { body } = await one.send('GET', '/v0/devices');
    t.is(new Set(body.data.map(({ ipv4 }: { ipv4: string }) => ipv4)).size, 61);
  });

  test(`${kind}: of equal keys, names or addresses at one instant one is made`, async (t) => {
    const one = await openServer(t, kind, { MAX_DEVICES_PER_USER: '100' });
    const two = await serverOn(one.database, { MAX_DEVICES_PER_USER: '100' });
    for (const fields of [
      { public_key: newKey() },
      { name: 'laptop' },
      { ipv4: '100.70.0.1' },
      { ipv6: 'fd00::70' },
    ]) {
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          create((i % 2 === 0 ? one : two).send, one.adminId, fields),
        ),
      );
      const [field] = Object.keys(fields) as [string];
      t.is(results.filter(({ status }) => status === 201).length, 1, field);
      for (const { status, body } of results)
        if (status !== 201) t.deepEqual(body, refused({ [field]: taken }));
    }
  });

  test(`${kind}: the device limit holds against many at once`, async (t) => {
    const one = await openServer(t, kind);
    const two = await serverOn(one.database);
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, i) => create((i % 2 === 0 ? one : two).send, one.adminId)),
    );
    t.is(results.filter(({ status }) => status === 201).length, 10);
    for (const { status, body } of results)
      if (status !== 201) t.deepEqual(body, refused({ base: [LIMIT] }));
    const names = (await one.send('GET', '/v0/devices')).body.data.map(
      ({ name }: { name: string }) => name,
    );
    t.is(new Set(names).size, 10);
  });

  test(`${kind}: devices of a user who is deleted meanwhile are refused or go along`, async (t) => {
    const one = await openServer(t, kind, { MAX_DEVICES_PER_USER: '100' });
    const two = await serverOn(one.database, { MAX_DEVICES_PER_USER: '100' });
    const { body } = await one.send('POST', '/v0/users', { body: { user: { email: 'a@b.c' } } });
    const [gone, ...results] = await Promise.all([
      two.send('DELETE', '/v0/users/a@b.c'),
      ...Array.from({ length: 15 }, () => create(one.send, body.data.id)),
    ]);
    t.is(gone.status, 204);
    for (const result of results)
      if (result.status !== 201) t.deepEqual(result.body, refused({ user_id: ['does not exist'] }));
    t.deepEqual((await one.send('GET', '/v0/devices')).body, { data: [] });
  });

  test(`${kind}: when the data plane has no place left, a device is refused with words`, async (t) => {
    const { send, adminId } = await openServer(t, kind, {}, { maxPeers: 3 });
    const results = await Promise.all([1, 2, 3, 4, 5].map(() => create(send, adminId)));
    t.is(results.filter(({ status }) => status === 201).length, 3);
    const full =
      'there are 3 devices already, the most that a gateway can serve; remove devices that are not needed';
    for (const { status, body } of results)
      if (status !== 201) t.deepEqual(body, refused({ base: [full] }));
    const { body } = await send('GET', '/v0/devices');
    await send('DELETE', `/v0/devices/${body.data[0].id}`);
    t.is((await create(send, adminId)).status, 201);
  });

  test(`${kind}: what is known of the number of devices may be old where there is little room`, async (t) => {
    const observed = fakeObserved({ deviceCount: () => 4_097 });
    const { send, adminId } = await openServer(t, kind, {}, { maxPeers: 4_097, observed });
    t.is((await create(send, adminId)).status, 201);
  });
}
