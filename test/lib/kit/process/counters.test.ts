// Counts of refusals, by reason.

import test from 'ava';
import { Counters } from '../../../../lib/kit/process/counters.ts';
import { openServer } from '../../../support/api/server.ts';

test('counts grow by reason, and what never happened is none', (t) => {
  const counters = new Counters();
  counters.add('requests_refused', 'not_found');
  counters.add('requests_refused', 'not_found');
  counters.add('connections_refused', 'too_many');
  t.is(counters.of('requests_refused', 'not_found'), 2);
  t.is(counters.of('requests_refused', 'too_many'), 0);
  t.deepEqual(counters.read(), {
    requests_refused: { not_found: 2 },
    sign_ins: {},
    refreshes: {},
    metadata_refreshes: {},
    mails: {},
    pasta_ends: {},
    clock_jumps: {},
    connections_refused: { too_many: 1 },
  });
});

test('every refused request is counted under its reason', async (t) => {
  const { send, services } = await openServer(t, 'sqlite');
  const rule = { destination: 'nowhere' };
  await send('GET', '/nothing');
  await send('GET', '/v0/users', { token: null });
  await send('GET', '/v0/users', { token: 'pst_x' });
  await send('POST', '/v0/rules', { body: '{' });
  await send('POST', '/v0/rules', { body: { rule } });
  await send('POST', '/v0/rules', { body: 'x', headers: { 'content-type': 'text/plain' } });
  await send('GET', '/v0/rules/nothing');
  await send('POST', '/v0/rules', { body: { rule: 'x'.repeat(1_048_577) } });
  await send('GET', '/v0/rules');
  t.deepEqual(services.counters.read().requests_refused, {
    not_found: 2,
    unauthenticated: 1,
    invalid_token: 1,
    malformed_body: 1,
    unprocessable: 1,
    unsupported_media_type: 1,
    payload_too_large: 1,
  });
});
