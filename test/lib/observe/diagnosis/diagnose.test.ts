// Why a device does not connect, on a whole gateway in memory: what happens to the device is what
// the API then says. What decides between findings: finding.test.ts.

import test, { type ExecutionContext } from 'ava';
import { MemoryDevice } from '../../../../dataplane/memory/index.ts';
import type { Diagnosis } from '../../../../lib/observe/diagnosis/fields.ts';
import { createGateway, type TestDevice, type TestGateway } from '../../../../lib/testing/index.ts';
import { checkAnswer } from '../../../support/api/openapi.ts';

/** Asks over the API; the answer must be as the OpenAPI document says. */
async function ask(
  t: ExecutionContext,
  gateway: TestGateway,
  device: TestDevice,
): Promise<Diagnosis> {
  const path = `/v0/devices/${device.id}/diagnosis`;
  const answer = await gateway.inject('GET', path);
  t.is(answer.status, 200, answer.text);
  t.is(checkAnswer('GET', path, answer), null);
  return answer.body.data as Diagnosis;
}

test('a device that is connected, and what passes', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  t.is((await ask(t, gateway, laptop)).code, 'nothing_inside');
  await laptop.ping(gateway.ipv4);
  const { attempts, inside, ...found } = await ask(t, gateway, laptop);
  t.like(found, {
    code: 'connected',
    text: 'It is connected, and its packets pass.',
    unknown_senders: [],
  });
  t.is(attempts.length, 1);
  t.like(attempts[0], {
    outcome: 'confirmed',
    begun_by: 'device',
    reason: null,
    remote_ip: '198.18.0.1',
    remote_port: 40_000,
    count: 1,
    dated_at: null,
  });
  t.true(inside!.largest > 0);
  t.not(inside!.passed_at, null);
  t.like(await laptop.diagnose(), { code: 'connected' });
});

test('since when a device is connected is said once the gateway has looked', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({});
  for (let i = 0; i < 100; i++) {
    const { connected_since: since } = await laptop.diagnose();
    if (since !== null) return t.true(Math.abs(Date.now() - Date.parse(since)) < 10_000);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return t.fail('it is never said');
});

test('a device that sends only from another address', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  await gateway.api.patch(`/v0/devices/${laptop.id}`, { device: { ipv4: '100.64.77.7' } });
  await t.throwsAsync(laptop.ping(gateway.ipv4), { message: /inner_source_not_allowed/ });
  const { code, text, inside } = await ask(t, gateway, laptop);
  t.is(code, 'wrong_inner_address');
  t.regex(text, new RegExp(`it sends from ${laptop.ipv4},`));
  t.is(inside!.wrong_source, laptop.ipv4);
});

test('a device whose packets a rule refuses', async (t) => {
  await using gateway = await createGateway({ settings: { DEFAULT_ACTION: 'drop' } });
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  gateway.host('10.0.0.5');
  await t.throwsAsync(laptop.ping('10.0.0.5'));
  t.like(await ask(t, gateway, laptop), { code: 'inner_packets_refused' });
});

test('a device that is offline, and unknown senders beside it', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  const phone = await gateway.addDevice({ user: 'alice@example.com' });
  // The rows know where it was.
  for (let i = 0; ; i++) {
    const { remote_ip } = await gateway.api.get(`/v0/devices/${laptop.id}`);
    if (remote_ip !== null) break;
    if (i === 200) return t.fail('its address is never written');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  laptop.offline();
  // The device has a new public key on the gateway, and its client has the old one.
  const public_key = Buffer.alloc(32, 9).toString('base64');
  await gateway.api.patch(`/v0/devices/${laptop.id}`, { device: { public_key } });
  t.is((await ask(t, gateway, laptop)).code, 'nothing_arrived');
  laptop.online();
  const found = await ask(t, gateway, laptop);
  // Its old key comes from where it was last.
  t.is(found.code, 'key_not_registered');
  t.is(found.unknown_senders.length, 1);
  t.like(found.unknown_senders[0], { public_key: laptop.publicKey, remote_ip: '198.18.0.1' });
  t.deepEqual((await ask(t, gateway, phone)).unknown_senders, []);
  const answer = await gateway.inject('GET', '/v0/unknown_senders');
  t.is(checkAnswer('GET', '/v0/unknown_senders', answer), null);
  const { keys, other_gateway } = answer.body.data;
  t.like(keys, [{ public_key: laptop.publicKey, count: 1 }]);
  t.deepEqual(other_gateway, []);
});

test('a device that is not served', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  t.true(laptop instanceof MemoryDevice);
  await gateway.api.delete(`/v0/devices/${laptop.id}`);
  await t.throwsAsync(laptop.diagnose(), { message: /404/ });
});
