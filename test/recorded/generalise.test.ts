// The recorder: what differs from run to run becomes a placeholder, everything else stays to the
// letter; and a recording grows by what came, without losing anything.

import test from 'ava';
import { answerOf } from '../support/api/requests.ts';
import { differenceOf } from './compare.ts';
import { Generaliser } from './generalise.ts';
import { Bindings } from './placeholders.ts';
import type { Exchange } from './recording.ts';

const ID = '0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee';
const now = `${new Date().toISOString().slice(0, -1)}000Z`;
const exchange: Exchange = {
  says: 'a device is made',
  method: 'POST',
  path: '/v0/devices',
  headers: [],
  body: '{"device":{"ipv4":"100.64.0.9"}}',
  answer: null,
};
const device = {
  id: ID,
  user_id: '00000000-0000-7000-8000-000000000001',
  name: 'quiet-otter',
  ipv4: '100.64.0.9',
  inserted_at: now,
  seen_at: '2020-01-02T03:04:05.678000Z',
};
const headers = { location: `/v0/devices/${ID}`, 'postern-revision': '7', date: 'now' };

function generaliser(unrecorded: string[] = []): Generaliser {
  const made = new Generaliser(new Bindings(), unrecorded);
  made.sends(exchange.body);
  return made;
}

test('an answer is recorded with placeholders, and compares with the next one', (t) => {
  const answer = answerOf(201, headers, JSON.stringify({ data: device }));
  const recorded = generaliser().record(exchange, answer);
  t.deepEqual(recorded.headers, [
    ['location', '/v0/devices/{{device-1:uuid}}'],
    ['postern-revision', '{{:number}}'],
  ]);
  t.deepEqual(JSON.parse(recorded.body), {
    data: {
      ...device,
      id: '{{device-1}}',
      name: '{{device-1.name:word}}',
      inserted_at: '{{device-1.inserted_at:time}}',
    },
  });
  t.is(differenceOf(recorded, answer, new Bindings()), null);
  const next = JSON.stringify({ data: { ...device, name: 'loud-crow' } });
  t.is(differenceOf(recorded, answerOf(201, headers, next), new Bindings()), null);
});

test('members that are not recorded are left out', (t) => {
  const answer = answerOf(200, {}, JSON.stringify({ name: 'x', properties: { name: 1 } }));
  const { body } = generaliser(['name']).record(exchange, answer);
  t.deepEqual(JSON.parse(body), { properties: { name: 1 } });
});

test('a recording grows by what came and keeps what it has', (t) => {
  const made = generaliser();
  const recorded = made.record(exchange, answerOf(201, headers, JSON.stringify({ data: device })));
  const grown = { ...device, tags: [now], name: 'other' };
  const answer = answerOf(201, { ...headers, etag: 'e' }, JSON.stringify({ data: grown }));
  const wider = made.widen(exchange, recorded, answer);
  t.deepEqual(wider.headers, [...recorded.headers, ['etag', 'e']]);
  const { data } = JSON.parse(recorded.body) as { data: object };
  t.deepEqual(JSON.parse(wider.body), {
    data: { ...data, tags: ['{{device-1.tags:time}}'] },
  });
});
