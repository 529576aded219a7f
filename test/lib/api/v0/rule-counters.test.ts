// Counters of a rule: hits at the gateway that answers, since it began.

import test from 'ava';
import type { RuleSample } from '../../../../dataplane/index.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { addRule } from '../../../support/database/records.ts';
import { openServer } from '../../../support/api/server.ts';
import { fakeObserved } from '../../../support/observe/fake-gateway.ts';

const ABSENT = '01900000-0000-7000-8000-00000000dead';

for (const kind of databaseKinds()) {
  test(`${kind}: a rule that was hit says how often, how much and when last`, async (t) => {
    const hits = new Map<string, RuleSample>();
    const before = Date.now();
    const { send, database } = await openServer(
      t,
      kind,
      {},
      {
        observed: fakeObserved({ rules: () => hits }),
      },
    );
    const { id } = await addRule(database, { destination: '10.0.0.0/8' });
    const idle = await addRule(database, { destination: '11.0.0.0/8' });
    const lastHitMs = Date.UTC(2026, 10, 21, 12, 0, 0, 250);
    hits.set(id, { id, packets: 3, bytes: 420, lastHitMs });
    const { status, body, headers } = await send('GET', `/v0/rules/${id.toUpperCase()}/counters`);
    t.is(status, 200);
    t.is(headers['cache-control'], 'no-store');
    t.deepEqual(body.data, {
      id,
      packets: 3,
      bytes: 420,
      last_hit_at: '2026-11-21T12:00:00.250000Z',
      counted_since: body.data.counted_since,
    });
    const since = Date.parse(body.data.counted_since as string);
    t.true(since >= before && since <= Date.now());
    const { body: other } = await send('GET', `/v0/rules/${idle.id}/counters`);
    t.like(other.data, { id: idle.id, packets: 0, bytes: 0, last_hit_at: null });
  });

  test(`${kind}: what is no rule has no counters, though something was hit under its id`, async (t) => {
    const hit = { id: ABSENT, packets: 1, bytes: 1, lastHitMs: 1 };
    const { send, database } = await openServer(
      t,
      kind,
      {},
      {
        observed: fakeObserved({ rules: () => new Map([[ABSENT, hit]]) }),
      },
    );
    const { id } = await addRule(database, { destination: '10.0.0.0/8' });
    for (const path of [ABSENT, 'x', '%00', `${id}x`])
      t.is((await send('GET', `/v0/rules/${path}/counters`)).status, 404, path);
    t.is((await send('GET', `/v0/rules/${id}/counters`, { token: null })).status, 401);
    t.is((await send('POST', `/v0/rules/${id}/counters`, { body: {} })).status, 404);
    await send('DELETE', `/v0/rules/${id}`);
    t.is((await send('GET', `/v0/rules/${id}/counters`)).status, 404);
  });

  test(`${kind}: without a data plane nothing was hit`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const { id } = await addRule(database, { destination: '10.0.0.0/8' });
    t.like((await send('GET', `/v0/rules/${id}/counters`)).body.data, { packets: 0, bytes: 0 });
  });
}
