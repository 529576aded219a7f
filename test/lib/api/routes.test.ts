// What the operations of all collections have in common.

import test from 'ava';
import { newKey, openServer } from '../../support/api/server.ts';

test('a list is as new as its records, in every process', async (t) => {
  const { send, adminId } = await openServer(t, 'sqlite');
  const names = async (path: string, field: string): Promise<string[]> =>
    (await send('GET', path)).body.data.map((record: Record<string, string>) => record[field]);
  for (let i = 0; i < 3; i += 1) {
    await send('POST', '/v0/users', { body: { user: { email: `u${i}@x.y` } } });
    t.is((await names('/v0/users', 'email')).at(-1), `u${i}@x.y`);
    await send('POST', '/v0/rules', { body: { rule: { destination: `10.0.0.${i}` } } });
    t.is((await names('/v0/rules', 'destination')).at(-1), `10.0.0.${i}`);
    const device = { user_id: adminId, public_key: newKey(), name: `d${i}` };
    const { body } = await send('POST', '/v0/devices', { body: { device } });
    t.is((await names('/v0/devices', 'name')).at(-1), `d${i}`);
    await send('PATCH', `/v0/devices/${body.data.id}`, { body: { device: { name: `e${i}` } } });
    t.is((await names('/v0/devices', 'name')).at(-1), `e${i}`);
    const configuration = { default_client_mtu: 1300 + i };
    await send('PATCH', '/v0/configuration', { body: { configuration } });
    t.is((await send('GET', '/v0/devices')).body.data[0].mtu, 1300 + i);
  }
});
