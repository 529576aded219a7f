// Whether this host has a route to an address. Where it has none: ../../../e2e/explain.test.ts.

import test from 'ava';
import { routeTo } from '../../../../lib/installation/doctor/route.ts';

test('this machine has a route to itself', async (t) => {
  t.is(await routeTo('127.0.0.1'), null);
});

test('where the kernel knows no way, that is said with what to do', async (t) => {
  for (const code of ['ENETUNREACH', 'EHOSTUNREACH', 'EINVAL'])
    t.deepEqual(await routeTo('203.0.113.9', async () => code), {
      check: 'route',
      level: 'failed',
      message: 'this host has no route to 203.0.113.9',
      fix: 'add one: ip route add 203.0.113.9 via ROUTER',
    });
  const { fix } = (await routeTo('2001:db8::9', async () => 'ENETUNREACH')) ?? {};
  t.is(fix, 'add one: ip -6 route add 2001:db8::9 via ROUTER');
});

test('what says nothing about a route is no error', async (t) => {
  // A broadcast address may not be connected to, and a family may be switched off.
  for (const code of [undefined, 'EACCES', 'EAFNOSUPPORT'])
    t.is(await routeTo('203.0.113.255', async () => code), null, code);
});
