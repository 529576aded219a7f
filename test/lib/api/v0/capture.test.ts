// Captures over the API, on a whole gateway in memory: who may have one, what is captured, how it
// ends, and what the audit trail says of it.

import test, { type ExecutionContext } from 'ava';
import { createGateway, type TestDevice, type TestGateway } from '../../../../lib/testing/index.ts';
import { RunningCapture, untilHolds } from '../../../support/api/running-capture.ts';
import { openServer, refused } from '../../../support/api/server.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { addDevice, addUser } from '../../../support/database/records.ts';
import type { ReadFile } from '../../../support/network/pcapng.ts';

const ABSENT = '01900000-0000-7000-8000-00000000dead';

interface Scene {
  readonly gateway: TestGateway;
  readonly laptop: TestDevice;
  readonly url: string;
}

async function open(t: ExecutionContext, settings: Record<string, string> = {}): Promise<Scene> {
  const gateway = await createGateway({ settings });
  t.teardown(() => gateway.close());
  const laptop = await gateway.addDevice({ name: 'laptop' });
  gateway.host('198.51.100.9');
  gateway.host('198.51.100.10');
  return { gateway, laptop, url: await gateway.listen() };
}

async function metric(gateway: TestGateway, name: string): Promise<number> {
  const { text } = await gateway.inject('GET', '/metrics');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

// ---- what is captured --------------------------------------------------------------------------

test('packets of a device, with what became of each, while they pass', async (t) => {
  const scene = await open(t);
  const { gateway, laptop } = scene;
  const rule = { action: 'drop', destination: '198.51.100.10', port_type: 'udp', port_range: '53' };
  const { id } = await gateway.api.post<{ id: string }>('/v0/rules', { rule });
  const capture = await RunningCapture.begin(scene, 'duration=30', gateway.token);
  const { headers, statusCode } = capture.response;
  t.is(statusCode, 200);
  t.is(headers['content-type'], 'application/x-pcapng');
  t.is(headers['cache-control'], 'no-store');
  t.is(headers['x-accel-buffering'], 'no');
  t.is(headers['content-encoding'], undefined);
  await laptop.udp('198.51.100.9', 7, 'hello');
  const packets = await capture.packets(2);
  t.deepEqual(
    packets.map(({ place, comment, flags }) => [place, comment, flags]),
    [
      ['from device', 'accept; default action', 1],
      ['to device', 'accept; default action', 2],
    ],
  );
  t.true(packets[0]!.bytes.includes('hello'));
  await t.throwsAsync(laptop.udp('198.51.100.10', 53, 'no'));
  const [, , ...others] = await capture.packets(3);
  t.true(others.length > 0);
  for (const { place, comment } of others) {
    t.is(place, 'refused');
    t.is(comment, `drop; rule_drop; rule ${id}`);
  }
  t.false(capture.hasEnded);
  const { application, comment, names, interfaces } = capture.file;
  t.regex(application, /^Postern \d/);
  t.true(comment.startsWith(`Packets of the device laptop (${laptop.id}) at the gateway `));
  t.deepEqual([...names.values()], ['laptop', 'laptop']);
  t.deepEqual(
    interfaces.map(({ snaplen }) => snaplen),
    [128, 128, 128],
  );
  capture.leave();
});

test('filters, the beginning of packets, and whole packets', async (t) => {
  const scene = await open(t);
  const { gateway, laptop } = scene;
  const other = await gateway.addDevice({ name: 'phone' });
  const data = 'x'.repeat(900);
  const take = async (query: string): Promise<ReadFile> => {
    const capture = await RunningCapture.begin(scene, `${query}&duration=1`, gateway.token);
    await laptop.udp('198.51.100.9', 7, data);
    await laptop.udp('198.51.100.10', 9, data);
    await other.udp('198.51.100.10', 9, data);
    await t.throwsAsync(laptop.udp('127.0.0.1', 9, data));
    return capture.end();
  };
  const places = ({ packets }: ReadFile): string[] => packets.map(({ place }) => place);
  const both = ['from device', 'to device'];
  const all = await take('payload=true');
  const one = await take('destination=198.51.100.9');
  t.deepEqual(places(all).filter((place) => place !== 'refused').length % 4, 0);
  t.true(places(all).includes('refused'));
  for (const { bytes, length } of all.packets) t.is(bytes.length, length);
  for (const { bytes, length } of one.packets) {
    t.is(bytes.length, 128);
    t.is(length, 928);
  }
  t.deepEqual(new Set(places(one)), new Set(both));
  const refusedOnly = await take('only=refused&snaplen=28');
  t.deepEqual(new Set(places(refusedOnly)), new Set(['refused']));
  t.is(refusedOnly.packets[0]!.bytes.length, 28);
  t.is(refusedOnly.packets[0]!.comment, 'drop; inner_destination_reserved');
  t.deepEqual(places(await take('port=9&protocol=udp&destination=198.51.100.0/24')), both);
});

// ---- its end -----------------------------------------------------------------------------------

test('two at a time; a client that goes away makes room at once', async (t) => {
  const scene = await open(t);
  const { gateway } = scene;
  const [first, second] = [
    await RunningCapture.begin(scene, '', gateway.token),
    await RunningCapture.begin(scene, '', gateway.token),
  ];
  t.is(await metric(gateway, 'wg_gateway_captures_running'), 2);
  const path = `/v0/devices/${scene.laptop.id}/capture`;
  const third = await gateway.inject('GET', path);
  t.is(third.status, 429);
  t.deepEqual(third.body, {
    error: 'two captures run at this gateway already; end one, or wait until one has ended',
  });
  t.is(third.headers['retry-after'], '10');
  first.leave();
  const left = performance.now();
  await untilHolds(async () => (await metric(gateway, 'wg_gateway_captures_running')) === 1);
  t.true(performance.now() - left < 2_000);
  const again = await gateway.inject('GET', `${path}?duration=1`);
  t.is(again.status, 200);
  second.leave();
});

test('who asks for the headers alone captures nothing', async (t) => {
  const { gateway, laptop } = await open(t);
  const { status, headers } = await gateway.inject('HEAD', `/v0/devices/${laptop.id}/capture`);
  t.is(status, 200);
  t.is(headers['content-type'], 'application/x-pcapng');
  t.is(await metric(gateway, 'wg_gateway_captures_running'), 0);
});

test('it ends when the gateway stops', async (t) => {
  const scene = await open(t);
  const capture = await RunningCapture.begin(scene, '', scene.gateway.token);
  await scene.gateway.close();
  const { counts } = await capture.end();
  t.is(counts.at(-1)!.comment, 'It ended: the gateway stops.');
});

// ---- who may -----------------------------------------------------------------------------------

for (const kind of databaseKinds())
  test(`${kind}: errors are named, and nobody but administrators gets anything`, async (t) => {
    const { send, database } = await openServer(t, kind);
    const user = await addUser(database);
    const device = await addDevice(database, user.id);
    const path = `/v0/devices/${device.id}/capture`;
    const bad = await send('GET', `${path}?duration=0&port=x&protocol=47&payload=yes`);
    t.is(bad.status, 422);
    t.deepEqual(
      bad.body,
      refused({
        protocol: ['should be one of tcp, udp, icmp'],
        port: ['is invalid'],
        payload: ['should be one of true, false'],
        duration: ['must be greater than or equal to 1'],
      }),
    );
    for (const id of [ABSENT, 'none'])
      t.is((await send('GET', `/v0/devices/${id}/capture`)).status, 404);
    t.is((await send('GET', `/v0/devices/${ABSENT}/capture?port=0`)).status, 422);
    t.is((await send('GET', path, { token: null })).status, 401);
    // There is no data plane.
    t.is((await send('GET', path)).status, 503);
  });

test('a token for captures alone gets packets', async (t) => {
  const scene = await open(t);
  const api_token = { name: 'wireshark', scopes: ['capture'] };
  const made = await scene.gateway.api.post<{ token: string }>('/v0/api_tokens', { api_token });
  const capture = await RunningCapture.begin(scene, 'duration=30', made.token);
  t.is(capture.response.statusCode, 200);
  await scene.laptop.udp('198.51.100.9', 7, 'hello');
  t.is((await capture.packets(2)).length, 2);
});
