// Who watches the process learns whether it lives and serves; nobody needs a token for that.

import test from 'ava';
import type { Readiness } from '../../../lib/observe/gateway-state.ts';
import { openServer } from '../../support/api/server.ts';

test('healthz answers while the process lives', async (t) => {
  const { send } = await openServer(t, 'sqlite');
  const { status, body } = await send('GET', '/healthz', { token: null });
  t.deepEqual([status, body], [200, { status: 'alive' }]);
});

test('readyz says whether the gateway serves, and why not', async (t) => {
  let readiness: Readiness = { status: 'ready', tun: 'wg-postern', masquerade: true };
  const { send } = await openServer(t, 'sqlite', {}, { readiness: () => readiness });
  t.deepEqual((await send('GET', '/readyz', { token: null })).body, readiness);
  for (const status of [
    'starting',
    'draining',
    'database_unavailable',
    'database_away',
    'database_read_only',
    'schema_newer',
    'tun_address_missing',
    'data_plane_down',
  ] as const) {
    readiness = { status, tun: null, masquerade: false };
    const answer = await send('GET', '/readyz', { token: null });
    t.deepEqual([answer.status, answer.body], [503, readiness]);
  }
});
