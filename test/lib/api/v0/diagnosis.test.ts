// Why devices cannot connect, over the API: what the rows alone decide, who may ask, and what is
// said of another gateway. What the data plane remembers: ../../observe/diagnosis/diagnose.test.ts.

import test from 'ava';
import type { Trace } from '../../../../dataplane/index.ts';
import type { DiagnosingGateway } from '../../../../lib/observe/diagnosis/diagnose.ts';
import {
  newId,
  recordConnections,
  registerGateway,
  writeTransaction,
} from '../../../../models/index.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { addDevice, addUser } from '../../../support/database/records.ts';
import { openServer } from '../../../support/api/server.ts';
import { fakeDiagnosing, silentTrace } from '../../../support/observe/fake-gateway.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const OTHER = '01900000-0000-7000-8000-00000000beef';
const ABSENT = '01900000-0000-7000-8000-00000000dead';
const HOUR_MS = 3_600_000;

for (const kind of databaseKinds()) {
  test(`${kind}: what the rows decide is said first`, async (t) => {
    let trace: Trace | null = silentTrace;
    const asked: string[] = [];
    const diagnosing: DiagnosingGateway = fakeDiagnosing(GATEWAY, {
      diagnose: async (publicKey) => {
        asked.push(publicKey);
        return trace;
      },
    });
    const settings = { VPN_SESSION_DURATION: '3600' };
    const { send, database } = await openServer(t, kind, settings, { diagnosing });
    const user = await addUser(database, { last_signed_in_at: new Date() });
    const device = await addDevice(database, user.id);
    const ask = async (): Promise<string> => {
      const { status, body, text } = await send('GET', `/v0/devices/${device.id}/diagnosis`);
      t.is(status, 200, text);
      t.is(body.data.gateway_id, GATEWAY);
      t.true(body.data.text.length > 0 && body.data.advice.length > 0);
      return body.data.code;
    };
    const { User, Device } = database.models;
    const changeUser = (fields: object): Promise<unknown> =>
      writeTransaction(database, async (transaction) =>
        (await User.findByPk(user.id, { transaction }))!.update(fields, { transaction }),
      );
    const changeDevice = (fields: object): Promise<unknown> =>
      writeTransaction(database, async (transaction) =>
        (await Device.findByPk(device.id, { transaction }))!.update(fields, { transaction }),
      );
    t.is(await ask(), 'nothing_arrived');
    t.deepEqual(asked, [device.public_key]);
    trace = null;
    t.is(await ask(), 'not_served');
    await changeUser({ last_signed_in_at: new Date(Date.now() - 2 * HOUR_MS) });
    t.is(await ask(), 'session_ended');
    await changeUser({ disabled_at: new Date() });
    t.is(await ask(), 'owner_disabled');
    await changeDevice({ expires_at: new Date(Date.now() - 1_000) });
    t.is(await ask(), 'device_ended');
    await changeDevice({ disabled_at: new Date() });
    t.is(await ask(), 'device_off');
    await changeDevice({ disabled_by: 'owner' });
    const said = await send('GET', `/v0/devices/${device.id}/diagnosis`);
    t.like(said.body.data, { code: 'device_off', text: 'Its owner switched it off.' });
  });

  test(`${kind}: a device at another gateway, by the name of that`, async (t) => {
    const diagnosing = fakeDiagnosing(GATEWAY);
    const { send, database } = await openServer(t, kind, {}, { diagnosing });
    const user = await addUser(database);
    const device = await addDevice(database, user.id);
    await registerGateway(database, { id: OTHER, name: 'berlin', startedAt: new Date() });
    const at = new Date(Date.now() - 60_000);
    await database.models.DeviceStatus.create({
      device_id: device.id,
      gateway_id: OTHER,
      latest_handshake: at,
      arrived_at: new Date(Date.now() - HOUR_MS),
      remote_ip: '192.0.2.7',
      remote_port: 7,
      updated: at,
    });
    const { body } = await send('GET', `/v0/devices/${device.id.toUpperCase()}/diagnosis`);
    t.like(body.data, { code: 'elsewhere', connected_gateway_id: OTHER });
    t.regex(body.data.text, /^It is connected to berlin since /);
    const beat = { seen_at: new Date(Date.now() - 60_001) };
    await database.models.Gateway.update(beat, { where: { id: OTHER } });
    const killed = await send('GET', `/v0/devices/${device.id}/diagnosis`);
    t.like(killed.body.data, { code: 'nothing_arrived', connected_gateway_id: null });
    t.regex(killed.body.data.text, /was with berlin, which does not run any more/);
    await database.models.Gateway.destroy({ where: { id: OTHER } });
    const unnamed = await send('GET', `/v0/devices/${device.id}/diagnosis`);
    t.regex(unnamed.body.data.text, /was with another gateway, which does not run any more/);
  });

  test(`${kind}: a key that two devices use at two gateways`, async (t) => {
    const diagnosing = fakeDiagnosing(GATEWAY);
    const { send, database } = await openServer(t, kind, {}, { diagnosing });
    const device = await addDevice(database, (await addUser(database)).id);
    const begunAt = Date.now() - 60_000;
    const connections = [0, 1, 2, 3].map((i) => ({
      id: newId(),
      deviceId: device.id,
      gatewayId: i % 2 === 0 ? GATEWAY : OTHER,
      connectedAt: begunAt + i * 15_000,
      disconnectedAt: i === 3 ? null : begunAt + (i + 1) * 15_000,
      remoteIp: i % 2 === 0 ? '192.0.2.7' : '203.0.113.9',
      remotePort: 51_820,
      reason: i === 3 ? null : ('elsewhere' as const),
    }));
    await recordConnections(database, connections);
    const { body } = await send('GET', `/v0/devices/${device.id}/diagnosis`);
    t.is(body.data.code, 'key_used_twice');
    t.is(
      body.data.text,
      'Two devices use its key: handshakes came in turn from 203.0.113.9:51820 and 192.0.2.7:51820.',
    );
  });

  test(`${kind}: who may ask, and for what`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const user = await addUser(database);
    const device = await addDevice(database, user.id);
    const path = `/v0/devices/${device.id}/diagnosis`;
    t.is((await send('GET', path)).status, 503, 'there is no data plane');
    t.is((await send('GET', '/v0/unknown_senders')).status, 503);
    for (const one of [path, '/v0/unknown_senders'])
      t.is((await send('GET', one, { token: null })).status, 401, one);
    for (const id of [ABSENT, 'laptop', "' OR 1=1"])
      t.is((await send('GET', `/v0/devices/${encodeURIComponent(id)}/diagnosis`)).status, 404, id);
    t.is((await send('POST', path, { body: {} })).status, 404);
  });
}
