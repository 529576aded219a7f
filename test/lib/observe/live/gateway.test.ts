// Whose devices are asked for, in words of the data plane; and names of protocols.

import test from 'ava';
import { protocolName, queryOf } from '../../../../lib/observe/live/gateway.ts';
import { fakeLive } from '../../../support/observe/fake-gateway.ts';

test('a device is asked for by its key, a user by the scope', (t) => {
  const live = fakeLive('a', { publicKeyOf: (id) => (id === 'laptop' ? 'key' : null) });
  const ask = (deviceId: string | null, userId: string | null): ReturnType<typeof queryOf> =>
    queryOf(live, { deviceId, userId });
  t.deepEqual(ask(null, null), { device: null, scope: null });
  t.deepEqual(ask('laptop', null), { device: 'key', scope: null });
  t.deepEqual(ask('laptop', 'alice'), { device: 'key', scope: 'alice' });
  t.deepEqual(ask(null, 'alice'), { device: null, scope: 'alice' });
  t.is(ask('nobody', 'alice'), null);
});

test('protocols have the names of rules and questions, others their numbers', (t) => {
  t.deepEqual([1, 58, 6, 17, 47, 132].map(protocolName), [
    'icmp',
    'icmp',
    'tcp',
    'udp',
    '47',
    '132',
  ]);
});
