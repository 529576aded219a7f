// Devices of a gateway in a test: their places on the network in memory, and what they take.

import test from 'ava';
import { parseAddress } from '../../../dataplane/index.ts';
import { openApiDocument } from '../../../lib/api/openapi/document.ts';
import { DEVICE_FIELDS, endpointOf } from '../../../lib/testing/device.ts';
import { createGateway } from '../../../lib/testing/index.ts';

test('each device has an address of its own in 198.18.0.0/15', (t) => {
  const addresses = Array.from({ length: 100_000 }, (_, i) => endpointOf(i).address);
  t.is(new Set(addresses).size, addresses.length);
  for (const address of [addresses[0]!, addresses[254]!, addresses[65_024]!, addresses[99_999]!]) {
    const bytes = parseAddress(address);
    t.is(bytes?.[0], 198);
    t.is((bytes?.[1] ?? 0) & 0xfe, 18, address);
  }
});

test('a device takes what the API takes, but for its public key', (t) => {
  const { components } = openApiDocument('http://127.0.0.1/') as {
    components: { schemas: Record<string, { properties: object }> };
  };
  const taken = Object.keys(components.schemas['DeviceCreate']?.properties ?? {});
  t.deepEqual([...DEVICE_FIELDS, 'public_key'].toSorted(), taken.toSorted());
});

test('a device explains what becomes of its packets', async (t) => {
  await using gateway = await createGateway();
  const laptop = await gateway.addDevice({ user: 'alice@example.com' });
  const rule = { action: 'drop', destination: '10.0.0.6', user_id: laptop.userId };
  const { id } = await gateway.api.post('/v0/rules', { rule });
  t.like(await laptop.explain('10.0.0.6', 'tcp/443'), { reason: 'rule_drop', rule_id: String(id) });
  t.like(await laptop.explain(gateway.ipv6, 'icmp'), { verdict: 'accept', reason: null });
  await t.throwsAsync(laptop.explain('10.0.0.6', 'tcp'), {
    message: /"port":\["can't be blank"\]/,
  });
  for (const service of ['tcp/443/x', 'tcp/', 'tcp/x', '', undefined])
    await t.throwsAsync(laptop.explain('10.0.0.6', service as string), {
      instanceOf: TypeError,
      message: /^explain: the service is tcp\/443, udp\/53 or icmp, not /,
    });
});
