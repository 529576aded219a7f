// Lists of live flows and refused packets over the API: what may be asked, what the gateway is
// asked then, and who may ask. What is listed: ../../observe/live/flows.test.ts.

import test from 'ava';
import { createToken } from '../../../../lib/auth/tokens.ts';
import type {
  EndedFlow,
  EndedPlace,
  FlowPlace,
  FlowQuery,
  RefusalQuery,
} from '../../../../dataplane/index.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { addRule, addUser } from '../../../support/database/records.ts';
import { checkAnswer } from '../../../support/api/openapi.ts';
import { openServer } from '../../../support/api/server.ts';
import { endedFlowOf, fakeLive, flowOf, refusalOf } from '../../../support/observe/fake-gateway.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const LAPTOP = '01900000-0000-7000-8000-00000000aaaa';
const ABSENT = '01900000-0000-7000-8000-00000000dead';

for (const kind of databaseKinds()) {
  test(`${kind}: filters and pages are what the gateway is asked`, async (t) => {
    const asked: [FlowQuery, number, FlowPlace | null][] = [];
    const live = fakeLive(GATEWAY, {
      flows: async (...what) => {
        asked.push(what);
        return { flows: [flowOf('key')], next: { worker: 3, flow: 70_000 } };
      },
      publicKeyOf: (id) => (id === LAPTOP ? 'key' : null),
      deviceIdOf: (key) => (key === 'key' ? LAPTOP : null),
    });
    const { send } = await openServer(t, kind, {}, { live });
    const filters = `device_id=${LAPTOP.toUpperCase()}&user_id=${ABSENT}&rule_id=${ABSENT}`;
    const path = `/v0/flows?${filters}&destination=10.0.0.0/8&limit=7`;
    const first = await send('GET', path);
    t.is(first.status, 200, first.text);
    t.is(checkAnswer('GET', path, first), null);
    t.like(first.body.data[0], { source_device_id: LAPTOP, gateway_id: GATEWAY });
    const query: FlowQuery = {
      device: 'key',
      scope: ABSENT,
      rule: ABSENT,
      destination: { network: new Uint8Array([10, 0, 0, 0]), prefixBits: 8 },
    };
    t.deepEqual(asked, [[query, 7, null]]);
    const [, next = ''] = /^<([^>]+)>; rel="next"$/.exec(String(first.headers['link'])) ?? [];
    t.true(next.startsWith('/v0/flows?'));
    await send('GET', next);
    t.deepEqual(asked[1], [query, 7, { worker: 3, flow: 70_000 }]);
    await send('GET', '/v0/flows?destination=2001:db8::1&unknown=1');
    t.is(asked[2]![1], 100);
    t.is(asked[2]![0].destination?.prefixBits, 128);
    for (const nobody of [`device_id=${ABSENT}`, 'device_id=x', 'user_id=x']) {
      const { status, body } = await send('GET', `/v0/flows?${nobody}`);
      t.is(status, 200);
      t.deepEqual(body.data, [], nobody);
    }
    t.is((await send('GET', '/v0/flows?user_id=')).status, 422);
    t.is(asked.length, 3, 'nobody has such ids, so nobody is asked');
  });

  test(`${kind}: an id of no rule is refused, unless flows of the rule are remembered`, async (t) => {
    let ended: EndedFlow[] = [];
    const live = fakeLive(GATEWAY, {
      flows: async () => ({ flows: [], next: null }),
      endedFlows: async () => ({ flows: ended, next: null }),
    });
    const { database, send } = await openServer(t, kind, {}, { live });
    const refused = { errors: { rule_id: ['does not exist'] } };
    for (const list of ['flows', 'ended_flows'])
      for (const filters of [`rule_id=${ABSENT}`, 'rule_id=x', `rule_id=${ABSENT}&device_id=x`]) {
        const { status, body } = await send('GET', `/v0/${list}?${filters}`);
        t.is(status, 422, `${list}?${filters}`);
        t.deepEqual(body, refused);
      }
    ended = [endedFlowOf('key')];
    t.is((await send('GET', `/v0/ended_flows?rule_id=${ABSENT}`)).body.data.length, 1);
    const { id } = await addRule(database, { destination: '10.0.0.0/8' });
    const known = await send('GET', `/v0/flows?rule_id=${id.toUpperCase()}`);
    t.deepEqual([known.status, known.body], [200, { data: [] }]);
  });

  test(`${kind}: ended flows are asked for as live ones, page by page`, async (t) => {
    const asked: [FlowQuery, number, EndedPlace | null][] = [];
    const live = fakeLive(GATEWAY, {
      endedFlows: async (...what) => {
        asked.push(what);
        const flow = endedFlowOf('key', { openerScope: ABSENT, because: 'no_room' });
        return { flows: [flow], next: [70_000, 0] };
      },
      publicKeyOf: (id) => (id === LAPTOP ? 'key' : null),
      deviceIdOf: (key) => (key === 'key' ? LAPTOP : null),
    });
    const { send } = await openServer(t, kind, {}, { live });
    const filters = `device_id=${LAPTOP}&user_id=${ABSENT}&rule_id=${ABSENT}`;
    const path = `/v0/ended_flows?${filters}&destination=10.0.0.0/8&limit=7`;
    const first = await send('GET', path);
    t.is(first.status, 200, first.text);
    t.is(checkAnswer('GET', path, first), null);
    t.like(first.body.data[0], {
      source_device_id: LAPTOP,
      source_user_id: ABSENT,
      destination_user_id: null,
      ended_at: '2026-11-25T12:01:10.500000Z',
      ended_because: 'no_room',
      gateway_id: GATEWAY,
    });
    const query: FlowQuery = {
      device: 'key',
      scope: ABSENT,
      rule: ABSENT,
      destination: { network: new Uint8Array([10, 0, 0, 0]), prefixBits: 8 },
    };
    t.deepEqual(asked, [[query, 7, null]]);
    const [, next = ''] = /^<([^>]+)>; rel="next"$/.exec(String(first.headers['link'])) ?? [];
    t.true(next.startsWith('/v0/ended_flows?'));
    await send('GET', next);
    t.deepEqual(asked[1], [query, 7, [70_000, 0]]);
  });

  test(`${kind}: refused packets are asked for by device, user and reason`, async (t) => {
    const asked: [RefusalQuery, number][] = [];
    const live = fakeLive(GATEWAY, {
      refusals: async (...what) => {
        asked.push(what);
        return [refusalOf('key', { rule: ABSENT, reason: 'rule_drop' })];
      },
      publicKeyOf: () => 'key',
      deviceIdOf: () => LAPTOP,
    });
    const { send } = await openServer(t, kind, {}, { live });
    const path = `/v0/refusals?device_id=${LAPTOP}&user_id=${ABSENT}&reason=rule_drop&limit=5`;
    const answer = await send('GET', path);
    t.is(answer.status, 200, answer.text);
    t.is(checkAnswer('GET', path, answer), null);
    t.like(answer.body.data[0], {
      device_id: LAPTOP,
      reason: 'rule_drop',
      text: 'A rule drops it.',
      rule_id: ABSENT,
      count: 3,
    });
    await send('GET', '/v0/refusals');
    t.deepEqual(asked, [
      [{ device: 'key', scope: ABSENT, reason: 'rule_drop' }, 5],
      [{ device: null, scope: null, reason: null }, 100],
    ]);
    t.deepEqual((await send('GET', '/v0/refusals?user_id=x')).body.data, []);
  });

  test(`${kind}: bad parameters are named, and only administrators may ask`, async (t) => {
    const { send, database } = await openServer(t, kind, {}, { live: fakeLive(GATEWAY) });
    const cases: readonly [path: string, ...fields: string[]][] = [
      ['/v0/flows?limit=0', 'limit'],
      ['/v0/flows?limit=1001', 'limit'],
      ['/v0/flows?limit=x&cursor=', 'limit', 'cursor'],
      ['/v0/flows?cursor=x', 'cursor'],
      ['/v0/flows?cursor=AAAAAAA', 'cursor'],
      ['/v0/flows?limit=1&limit=2', 'limit'],
      ['/v0/ended_flows?limit=0&cursor=x', 'limit', 'cursor'],
      ['/v0/ended_flows?cursor=AAAAAAA', 'cursor'],
      ['/v0/ended_flows?destination=10.0.0.0/33', 'destination'],
      ['/v0/flows?destination=files.example', 'destination'],
      ['/v0/flows?destination=10.0.0.0/33', 'destination'],
      ['/v0/refusals?limit=-1', 'limit'],
      ['/v0/refusals?reason=none', 'reason'],
      ['/v0/refusals?reason=drop', 'reason'],
    ];
    for (const [path, ...fields] of cases) {
      const { status, body } = await send('GET', path);
      t.is(status, 422, path);
      t.deepEqual(Object.keys(body.errors as object).toSorted(), fields.toSorted(), path);
    }
    const email = 'person@example.com';
    await addUser(database, { email, role: 'unprivileged' });
    const { token: person } = await createToken(database, { email, name: 'laptop' });
    for (const path of ['/v0/flows', '/v0/ended_flows', '/v0/refusals']) {
      t.is((await send('GET', path, { token: null })).status, 401);
      t.is((await send('GET', path, { token: 'pst_x' })).status, 401);
      t.is((await send('GET', path, { token: person })).status, 403);
      t.is((await send('POST', path, { body: {} })).status, 404);
      t.is((await send('HEAD', path)).status, 200);
    }
  });

  test(`${kind}: without a data plane there is nothing to list`, async (t) => {
    const { send } = await openServer(t, kind);
    for (const path of ['/v0/flows', '/v0/ended_flows', '/v0/refusals'])
      t.is((await send('GET', path)).status, 503, path);
  });
}
