// A device is removed, and another person gets one with its key, its addresses, even its id. What the
// first one did stays with nobody: no history, no connection, no flow, no refused packet and no
// handshake of it is shown for the second one, to administrators or in the portal.

import test, { type ExecutionContext } from 'ava';
import type { Diagnosis } from '../../lib/observe/diagnosis/fields.ts';
import { createGateway } from '../../lib/testing/index.ts';
import { recordConnections, recordHistory, writeTransaction } from '../../models/index.ts';
import type { TestServer } from '../support/api/server.ts';
import { addDevice } from '../support/database/records.ts';
import { atGateway, PASSWORD, Visitor } from '../support/web/visitor.ts';
import { openConsole } from '../support/web/console.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const SEEN_FROM = '203.0.113.77';
const HOST = '10.0.0.5';
const REFUSED_HOST = '10.0.0.6';

interface Device {
  readonly id: string;
  readonly public_key: string;
}

/** What is kept of a device: bytes and a connection. */
async function keep({ database }: TestServer, deviceId: string): Promise<void> {
  const start = Math.floor(Date.now() / 600_000) * 600;
  const report = { start, counts: [1_000, 2_000] };
  await recordHistory(database, GATEWAY, 'device', [{ subject: deviceId, ...report }]);
  await recordConnections(database, [
    {
      id: '01900000-0000-7000-8000-00000000c0de',
      deviceId,
      gatewayId: GATEWAY,
      connectedAt: start * 1_000,
      disconnectedAt: null,
      remoteIp: SEEN_FROM,
      remotePort: 4_000,
      reason: null,
    },
  ]);
}

/** Nothing is known of a device. */
async function checkUnknown(t: ExecutionContext, { send }: TestServer, id: string): Promise<void> {
  const { data: traffic } = (await send('GET', `/v0/devices/${id}/traffic`)).body;
  t.deepEqual(traffic.totals, { rx_bytes: 0, tx_bytes: 0 });
  t.deepEqual((await send('GET', `/v0/devices/${id}/connections`)).body.data, []);
}

test('the history of a removed device is nobody’s', async (t) => {
  const opened = await openConsole(t, 'sqlite');
  const { send, database, admin, user, adminUser, plainUser } = opened;
  const fields = { ipv4: '100.64.9.9', ipv6: 'fd00::99' };
  const first: Device = await addDevice(database, adminUser.id, fields);
  await keep(opened, first.id);
  const paths = ['traffic', 'connections'].map((what) => `/v0/devices/${first.id}/${what}`);
  for (const path of paths) t.is((await send('GET', path)).status, 200);
  t.is((await send('GET', paths[0]!)).body.data.totals.rx_bytes, 1_000);
  t.true((await admin.get(`/devices/${first.id}/connections`)).text.includes(SEEN_FROM));

  t.is((await send('DELETE', `/v0/devices/${first.id}`)).status, 204);
  for (const path of paths) t.is((await send('GET', path)).status, 404, path);
  const { data: ofUser } = (await send('GET', `/v0/users/${adminUser.id}/traffic`)).body;
  t.is(ofUser.totals.rx_bytes, 0);

  // A gateway that heard of the removal late still reports of it.
  await keep(opened, first.id);
  const { public_key } = first;
  const second: Device = await addDevice(database, plainUser.id, { ...fields, public_key });
  t.not(second.id, first.id);
  await checkUnknown(t, opened, second.id);
  const { data: ofOther } = (await send('GET', `/v0/users/${plainUser.id}/traffic`)).body;
  t.is(ofOther.totals.rx_bytes, 0);
  for (const [visitor, path] of [
    [admin, `/devices/${second.id}`],
    [admin, `/devices/${second.id}/connections`],
    [user, `/user_devices/${second.id}`],
  ] as const) {
    const { status, text } = await visitor.get(path);
    t.is(status, 200);
    t.false(text.includes(SEEN_FROM), path);
  }

  // No request makes a device with an id of its choice; a row that somebody copies may have one.
  const body = {
    device: { id: first.id, user_id: plainUser.id, public_key: `${'B'.repeat(42)}A=` },
  };
  const made = await send('POST', '/v0/devices', { body });
  t.not(made.body.data?.id, first.id);
  await writeTransaction(database, (transaction) =>
    database.models.Device.destroy({ where: { id: second.id }, transaction }),
  );
  const row = { id: first.id, user_id: plainUser.id, name: 'third', public_key, ...fields };
  const preshared_key = `${'A'.repeat(43)}=`;
  await writeTransaction(database, (transaction) =>
    database.models.Device.create({ ...row, preshared_key }, { transaction }),
  );
  await checkUnknown(t, opened, first.id);
});

test('what a removed device did a moment ago is nobody’s', async (t) => {
  const gateway = await createGateway({ settings: { API_RATE_LIMIT: '0' } });
  t.teardown(() => gateway.close());
  const { api } = gateway;
  gateway.host(HOST);
  await api.post('/v0/rules', { rule: { action: 'drop', destination: REFUSED_HOST } });
  const first = await gateway.addDevice({ user: 'alice@example.com', name: 'first' });
  await first.udp(HOST, 7, 'hello');
  await t.throwsAsync(first.ping(REFUSED_HOST));
  t.true((await first.flows()).length > 0);
  t.true((await first.refusals()).length > 0);
  t.true((await first.diagnose()).attempts.length > 0);
  const { ipv4, ipv6 } = first.record;
  const public_key = first.publicKey;
  await api.delete(`/v0/devices/${first.id}`);

  const bob = { email: 'bob@example.com', password: PASSWORD, password_confirmation: PASSWORD };
  const { id: user_id } = await api.post<{ id: string }>('/v0/users', { user: bob });
  const device = { name: 'second', user_id, public_key, ipv4, ipv6 };
  const second = await api.post<Device>('/v0/devices', { device });
  for (const about of [`device_id=${second.id}`, `user_id=${user_id}`])
    for (const list of ['flows', 'ended_flows', 'refusals'])
      t.deepEqual(await api.get(`/v0/${list}?${about}`), [], `${list} ${about}`);
  const diagnosis = await api.get<Diagnosis>(`/v0/devices/${second.id}/diagnosis`);
  t.deepEqual(diagnosis.attempts, []);
  t.is(diagnosis.connected_since, null);
  t.is(diagnosis.inside?.passed_at ?? null, null);
  const portal = new Visitor(atGateway(await gateway.listen()));
  t.is((await portal.signIn(bob.email)).status, 303);
  for (const path of ['/user_refusals', `/user_devices/${second.id}`, '/user_devices']) {
    const { status, text } = await portal.get(path);
    t.is(status, 200, path);
    for (const hidden of [REFUSED_HOST, first.id, 'first', 'alice@example.com'])
      t.false(text.includes(hidden), `${path}: ${hidden}`);
  }
});
