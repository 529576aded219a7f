// Questions about packets over the API: what may be asked, and what the rows alone decide. That the
// packet path answers as it then acts: ../../observe/explain/explain.test.ts.

import test from 'ava';
import type { Explanation, Question } from '../../../../dataplane/index.ts';
import { registerGateway, writeTransaction } from '../../../../models/index.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { addDevice, addUser } from '../../../support/database/records.ts';
import { openServer } from '../../../support/api/server.ts';
import { fakeExplaining, passing, silentTrace } from '../../../support/observe/fake-gateway.ts';

const GATEWAY = '01900000-0000-7000-8000-00000000cafe';
const OTHER = '01900000-0000-7000-8000-00000000beef';
const ABSENT = '01900000-0000-7000-8000-00000000dead';
const HOUR_MS = 3_600_000;
const BAD_PROTOCOL =
  'should be one of tcp, udp, icmp, or the number of another protocol as text, such as 47; 1 and 58 are written as icmp, 6 as tcp, 17 as udp';

for (const kind of databaseKinds()) {
  test(`${kind}: what the rows decide is said before the packet path is asked`, async (t) => {
    const asked: Question[] = [];
    let found: Explanation | null = passing;
    const explaining = fakeExplaining(async (question: Question) => {
      asked.push(question);
      return found;
    });
    const { send, database } = await openServer(
      t,
      kind,
      { VPN_SESSION_DURATION: '3600' },
      { explaining },
    );
    const user = await addUser(database, { last_signed_in_at: new Date() });
    const device = await addDevice(database, user.id);
    const explain = { device_id: device.id, destination: '192.0.2.1', protocol: 'tcp', port: 22 };
    const ask = async (): Promise<[reason: string | null, refusedAt: string | undefined]> => {
      const { status, body, text } = await send('POST', '/v0/explain', { body: { explain } });
      t.is(status, 200, text);
      t.is(body.data.gateway_id, GATEWAY);
      const gates = body.data.gates as { code: string; outcome: string }[];
      return [body.data.reason, gates.find(({ outcome }) => outcome === 'refused')?.code];
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
    t.deepEqual(await ask(), [null, undefined]);
    t.is(asked.length, 1);
    t.is(asked[0]!.from, device.public_key);
    found = null;
    t.deepEqual(await ask(), ['not_served', 'served']);
    await changeUser({ last_signed_in_at: new Date(Date.now() - 2 * HOUR_MS) });
    t.deepEqual(await ask(), ['session_ended', 'vpn_session']);
    await changeUser({ disabled_at: new Date() });
    t.deepEqual(await ask(), ['owner_disabled', 'owner_enabled']);
    await changeDevice({ expires_at: new Date(Date.now() - 1_000) });
    t.deepEqual(await ask(), ['device_ended', 'device_current']);
    await changeDevice({ disabled_at: new Date() });
    t.deepEqual(await ask(), ['device_off', 'device_on']);
    await changeDevice({ disabled_by: 'owner' });
    const said = await send('POST', '/v0/explain', { body: { explain } });
    t.is(said.body.data.text, 'The owner of the device switched it off.');
    t.is(asked.length, 2, 'the packet path was not asked again');
  });

  test(`${kind}: a device at another gateway is refused here, by the name of that`, async (t) => {
    let explanation: Explanation = passing;
    let trace = { latestHandshakeMs: null as number | null, elsewhereAtMs: null };
    let deviceId: string | null = null;
    const explaining = fakeExplaining(async () => explanation, {
      diagnose: async () => ({ ...silentTrace, ...trace }),
      deviceIdOf: () => deviceId,
    });
    const { send, database } = await openServer(t, kind, {}, { explaining });
    const user = await addUser(database);
    const device = await addDevice(database, user.id);
    await registerGateway(database, { id: OTHER, name: 'berlin', startedAt: new Date() });
    const at = new Date(Date.now() - 60_000);
    const seen = { gateway_id: OTHER, latest_handshake: at, arrived_at: at, updated: at };
    await database.models.DeviceStatus.create({ device_id: device.id, ...seen });
    const sent = { device_id: device.id, destination: '192.0.2.1', protocol: 'icmp' };
    const ask = async (explain: object) => {
      const { body } = await send('POST', '/v0/explain', { body: { explain } });
      const gates = body.data.gates as { code: string; outcome: string }[];
      return { ...body.data, gate: gates.find(({ outcome }) => outcome === 'refused')?.code };
    };
    t.like(await ask(sent), {
      verdict: 'drop',
      reason: 'elsewhere',
      gate: 'served',
      text: 'The device is connected to another gateway, so its packets do not come here. That gateway is berlin.',
      advice: 'Ask that gateway.',
      flow: null,
      connected_gateway_id: OTHER,
      gateway_id: GATEWAY,
    });
    // A device that a host sends to: the packet path says it.
    deviceId = device.id;
    explanation = { ...passing, reason: 'peer_elsewhere', place: 'nowhere', to: device.public_key };
    const received = { source: '192.0.2.1', destination: device.id, protocol: 'icmp' };
    const refused = await ask(received);
    t.like(refused, { reason: 'peer_elsewhere', gate: 'receiver', connected_gateway_id: OTHER });
    t.regex(refused.text, / That gateway is berlin\.$/);
    // It came back, and rows are about a second old.
    explanation = passing;
    trace = { ...trace, latestHandshakeMs: Date.now() };
    t.like(await ask(sent), { verdict: 'accept', connected_gateway_id: null });
    // That gateway was killed.
    trace = { ...trace, latestHandshakeMs: null };
    const silent = { seen_at: new Date(Date.now() - HOUR_MS) };
    await database.models.Gateway.update(silent, { where: { id: OTHER } });
    t.like(await ask(sent), { verdict: 'accept', connected_gateway_id: null });
  });

  test(`${kind}: every gate has a text, also where no rule was asked`, async (t) => {
    const refused: Explanation = {
      ...passing,
      reason: 'no_peer',
      place: 'nowhere',
      decision: null,
    };
    const explaining = fakeExplaining(async () => refused);
    const { send, database } = await openServer(t, kind, {}, { explaining });
    const user = await addUser(database);
    const device = await addDevice(database, user.id);
    const explain = { source: '192.0.2.1', destination: device.id, protocol: 'icmp' };
    const { body } = await send('POST', '/v0/explain', { body: { explain } });
    t.is(body.data.reason, 'no_peer');
    const gates = body.data.gates as { text: string }[];
    t.true(gates.every(({ text }) => text !== ''));
  });

  test(`${kind}: what is wrong with the host is said where the packet leaves by it`, async (t) => {
    const finding = (check: string, level: 'ok' | 'warning' | 'failed') => ({
      check,
      level,
      message: 'net.ipv4.ip_forward is off',
      fix: 'sysctl -w net.ipv4.ip_forward=1',
    });
    const wrong = finding('forwarding IPv4', 'failed');
    const noRoute = finding('route', 'failed');
    const findings = [wrong, finding('foreign rules', 'ok'), finding('clock', 'warning')];
    let place: Explanation['place'] = 'tun';
    const { send, database } = await openServer(
      t,
      kind,
      {},
      {
        explaining: fakeExplaining(async () => ({ ...passing, place })),
        checkup: {
          findings: () => findings,
          routeTo: async (address) => (address === '192.0.2.9' ? noRoute : null),
        },
      },
    );
    const user = await addUser(database);
    const device = await addDevice(database, user.id);
    const ask = async (explain: object): Promise<unknown> => {
      const { body } = await send('POST', '/v0/explain', { body: { explain } });
      return body.data.host;
    };
    const out = { device_id: device.id, destination: '192.0.2.1', protocol: 'icmp' };
    const back = { source: '192.0.2.1', destination: device.id, protocol: 'icmp' };
    const away = { ...out, destination: '192.0.2.9' };
    t.deepEqual(await ask(out), [wrong]);
    t.deepEqual(await ask(away), [noRoute, wrong]);
    place = 'device';
    t.deepEqual(await ask(away), [], 'from device to device the host carries nothing');
    t.deepEqual(await ask(back), [wrong]);
    t.deepEqual(await ask({ ...back, source: '192.0.2.9' }), [wrong], 'it has come already');
  });

  test(`${kind}: a packet that leaves by a socket of the gateway is said to`, async (t) => {
    let place: Explanation['place'] = 'tun';
    const explaining = fakeExplaining(async () => ({ ...passing, place }));
    const services = { explaining: { ...explaining, way: 'sockets' as const } };
    const { send, database } = await openServer(t, kind, {}, services);
    const { id: userId } = await addUser(database);
    const device = await addDevice(database, userId);
    const explain = { device_id: device.id, destination: '192.0.2.1', protocol: 'icmp' };
    const wayOut = async (): Promise<unknown> => {
      const { body } = await send('POST', '/v0/explain', { body: { explain } });
      return (body.data.gates as { code: string; text: string }[]).find(
        ({ code }) => code === 'way',
      )?.text;
    };
    t.is(await wayOut(), 'There is a way to the destination, by a socket of the gateway.');
    place = 'device';
    t.is(await wayOut(), 'There is a way to the destination.');
  });

  test(`${kind}: a question that means nothing is refused by its fields`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const user = await addUser(database);
    const device = await addDevice(database, user.id, { ipv4: '100.64.9.9', ipv6: null });
    const good = { device_id: device.id, destination: '192.0.2.1', protocol: 'tcp', port: 22 };
    const cases: readonly (readonly [object, Record<string, readonly string[]>])[] = [
      [{ device_id: null }, { device_id: ["can't be blank"] }],
      [{ device_id: ABSENT }, { device_id: ['does not exist'] }],
      [{ source: 'x' }, { source: ['is invalid'] }],
      [
        { source: '2001:db8::9' },
        { destination: ['is of another address family than the sender'] },
      ],
      [{ destination: '' }, { destination: ["can't be blank"] }],
      [{ destination: 'files.example' }, { destination: ['is invalid'] }],
      [{ destination: ABSENT }, { destination: ['does not exist'] }],
      [
        { destination: '2001:db8::1' },
        { destination: ['is of another address family than the sender'] },
      ],
      ...['gre', '1', '6', '17', '58', '047', 47].map(
        (protocol) => [{ protocol }, { protocol: [BAD_PROTOCOL] }] as const,
      ),
      [{ port: null }, { port: ["can't be blank"] }],
      [{ protocol: 'icmp' }, { port: ['must not be present'] }],
      [{ protocol: 'icmp', port: null, source_port: 7 }, { source_port: ['must not be present'] }],
      [
        { device_id: null, source: '192.0.2.9' },
        {
          destination: ['is the address of no device, and the sender is no device either'],
        },
      ],
      [{ device_id: null, source: 'x', destination: '100.64.9.9' }, { source: ['is invalid'] }],
    ];
    for (const [changes, errors] of cases) {
      const explain = { ...good, ...changes };
      const { status, body } = await send('POST', '/v0/explain', { body: { explain } });
      t.is(status, 422, JSON.stringify(explain));
      t.deepEqual(body.errors, errors, JSON.stringify(explain));
    }
    t.is((await send('POST', '/v0/explain', { body: { explain: good } })).status, 503);
    t.is((await send('POST', '/v0/explain', { body: { explain: good }, token: null })).status, 401);
    t.is((await send('POST', '/v0/explain', { body: {} })).status, 400);
    t.is((await send('GET', '/v0/explain')).status, 404);
  });
}
