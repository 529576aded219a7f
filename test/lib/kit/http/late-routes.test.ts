// Routes that come when they are asked for: however an address is spelled, they are there in time.

import test from 'ava';
import type { Server } from '@hapi/hapi';
import { addLate, pageAt } from '../../../../lib/kit/http/late-routes.ts';
import { openServer, routesOf } from '../../../support/api/server.ts';

const pathsOf = (server: Server): string[] => server.table().map(({ path }) => path);

test('the first request for a kind of records adds its routes, and no others', async (t) => {
  const { server, send } = await openServer(t, 'sqlite', {
    EXTERNAL_URL: 'https://vpn.example.com/gate/',
  });
  const before = pathsOf(server);
  t.false(before.some((path) => path.startsWith('/v0/users')));
  for (const path of ['/v0', '/v0/', '/v0/x', '/v0/users_', '/v0/{id}'])
    t.is((await send('GET', path)).status, 404, path);
  t.deepEqual(pathsOf(server), before);
  for (const path of ['/gate/v0/%75sers/', '/v0/groups?x=/v0/rules', '/v0/devices/'])
    t.is((await send('GET', path)).status, 200, path);
  const added = pathsOf(server).filter((path) => !before.includes(path));
  const kinds = new Set(added.map((path) => path.split('/')[2] ?? ''));
  t.deepEqual([...kinds].toSorted(), ['devices', 'groups', 'users']);
  const all = (await routesOf(server)).filter(({ path }) => /^\/v0\/groups(\/|$)/.test(path));
  t.is(added.filter((path) => path.startsWith('/v0/groups')).length, all.length);
});

test('a page is found that nobody has asked for', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  await server.inject('/sign_in');
  t.false(pathsOf(server).includes('/devices/{id}'));
  t.is(pageAt(server, '/devices/1')?.path, '/devices/{id}');
  t.is(pageAt(server, '/nothing'), null);
});

test('an address has to say which routes are asked for', async (t) => {
  const { server } = await openServer(t, 'sqlite');
  const route = { method: 'GET' as const, handler: () => '' };
  t.throws(() => addLate(server, [{ ...route, path: '/v0/{kind}/all' }]), { message: /kind/ });
  t.notThrows(() => addLate(server, [{ ...route, path: '/v0/all/{kind}' }]));
});
