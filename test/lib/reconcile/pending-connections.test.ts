// Connections on their way into the database: one line for each, whole each time.

import test from 'ava';
import { PendingConnections } from '../../../lib/reconcile/pending-connections.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';

test('a connection is written when it begins and when it ends, or at once if both came', (t) => {
  const pending = new PendingConnections(GATEWAY, 10);
  pending.begin('a', { address: 'fe80::1%eth0', port: 7 }, 1_000);
  const [begun, ...others] = pending.take();
  t.deepEqual(others, []);
  t.like(begun, {
    deviceId: 'a',
    gatewayId: GATEWAY,
    connectedAt: 1_000,
    disconnectedAt: null,
    remoteIp: 'fe80::1',
    remotePort: 7,
    reason: null,
  });
  pending.end('a', 'silent', 5_000);
  pending.end('a', 'silent', 6_000);
  pending.end('unknown', 'silent', 6_000);
  t.deepEqual(pending.take(), [{ ...begun!, disconnectedAt: 5_000, reason: 'silent' }]);
  pending.begin('b', null, 9_000);
  pending.end('b', 'removed', 8_000);
  const [both, ...none] = pending.take();
  t.deepEqual(none, []);
  t.like(both, { connectedAt: 9_000, disconnectedAt: 9_000, remoteIp: null, remotePort: null });
});

test('what could not be written does not hide what came since', (t) => {
  const pending = new PendingConnections(GATEWAY, 10);
  pending.begin('a', null, 1);
  const failed = pending.take();
  pending.end('a', 'elsewhere', 2);
  pending.giveBack(failed);
  t.is(pending.size, 1);
  t.like(pending.take()[0], { reason: 'elsewhere' });
  pending.giveBack(failed);
  t.like(pending.take()[0], { reason: null });
});

test('one statement takes 500, and too many lose the oldest', (t) => {
  const pending = new PendingConnections(GATEWAY, 600);
  for (let i = 0; i < 602; i += 1) pending.begin(`${i}`, null, i);
  t.is(pending.lost, 2);
  const taken = pending.take();
  t.is(taken.length, 500);
  t.is(taken[0]?.deviceId, '2');
  t.is(pending.take().length, 100);
});
