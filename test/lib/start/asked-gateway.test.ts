// The gateway as requests ask it: what answers in time is handed on, and nobody waits for a worker
// that hangs. The same over the API and on pages, which say that the service is unavailable.

import test from 'ava';
import type { FlowQuery } from '../../../dataplane/index.ts';
import { askedGateway } from '../../../lib/start/asked-gateway.ts';
import { addDevice, addUser } from '../../support/database/records.ts';
import { openServer } from '../../support/api/server.ts';
import { fakeAsk, fakeWatched, passing, silentTrace } from '../../support/observe/fake-gateway.ts';

const ID = '01900000-0000-7000-8000-00000000cafe';
const EVERYTHING: FlowQuery = { device: null, scope: null, rule: null, destination: null };
/** The longest that anybody waits, and what a busy machine adds. */
const WAIT_MS_MAX = 7_000;

const known = {
  reconciler: {
    servedDeviceOf: () => ({ id: 'device', userId: 'user', name: 'laptop' }),
    lastDeviceIdOf: () => 'device',
    lastOwnerIdOf: () => 'user',
    lastPublicKeyOf: () => 'key',
    tried: () => ({ peers: new Map(), rules: new Map() }),
  },
  presence: { connectedForMs: () => 7 },
};

const page = { flows: [], next: null };
const effect = { ended: { count: 0, found: [], devices: [] }, passed: { count: 0, found: [] } };

const prompt = {
  facts: { ...fakeWatched().facts(), way: 'sockets' } as const,
  capture: async () => null,
  ask: fakeAsk({ flows: async () => page, effectOf: async () => effect }),
};
const hanging = { ...prompt, ask: (): Promise<never> => new Promise(() => undefined) };

test('what answers in time is handed on', async (t) => {
  const { explaining, diagnosing, live, capturing } = askedGateway(ID, prompt, known);
  for (const { id } of [explaining, diagnosing, live, capturing]) t.is(id, ID);
  t.is(await explaining.ask('explain', { from: null, packet: new Uint8Array(20) }), passing);
  t.is(explaining.deviceIdOf('key'), 'device');
  t.is(explaining.way, 'sockets');
  t.is(askedGateway(ID, prompt, known, true).explaining.way, 'sockets');
  const withTun = { ...prompt, facts: { ...prompt.facts, way: 'tun' } as const };
  t.is(askedGateway(ID, withTun, known, true).explaining.way, 'pasta');
  t.is(await diagnosing.ask('diagnose', 'key'), silentTrace);
  t.is(diagnosing.connectedForMs('key'), 7);
  t.is(await live.ask('flows', EVERYTHING, 1, null), page);
  t.is(live.userIdOf('key'), 'user');
  t.is(live.ownerIdOf('key'), 'user');
  t.is(live.publicKeyOf('device'), 'key');
  t.is(await live.ask('effectOf', live.tried(new Map() as never, new Map()), 1), effect);
});

test('nobody waits for a worker that hangs', async (t) => {
  const asked = askedGateway(ID, hanging, known);
  const { send, database, log } = await openServer(t, 'sqlite', {}, asked);
  const user = await addUser(database);
  const { id } = await addDevice(database, user.id);
  const explain = { device_id: id, destination: '192.0.2.1', protocol: 'icmp' };
  const dry_run = { method: 'DELETE', path: `/v0/devices/${id}` };
  const begun = performance.now();
  const answers = await Promise.all([
    send('POST', '/v0/explain', { body: { explain } }),
    send('POST', '/v0/dry_run', { body: { dry_run } }),
    send('GET', `/v0/devices/${id}/diagnosis`),
    send('GET', '/v0/unknown_senders'),
    send('GET', '/v0/flows'),
    send('GET', '/v0/ended_flows'),
    send('GET', '/v0/refusals'),
  ]);
  const tookMs = performance.now() - begun;
  for (const { status, body, headers } of answers) {
    t.is(status, 503);
    t.deepEqual(body, { error: 'service_unavailable' });
    t.is(headers['retry-after'], '5');
  }
  t.true(tookMs < WAIT_MS_MAX, `${tookMs} ms`);
  t.is((await send('GET', `/v0/devices/${id}`)).status, 200, 'the dry run wrote nothing');
  const said = JSON.stringify(log);
  t.regex(said, /a part of the gateway did not answer/);
  t.regex(said, /no answer in 5000 ms/);
  t.notRegex(said, /database was out of reach/);
});
