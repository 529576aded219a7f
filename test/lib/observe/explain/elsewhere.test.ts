// Which other gateway has a device of a question. What is answered then:
// ../../api/v0/explain.test.ts.

import test from 'ava';
import { receiverElsewhere, senderElsewhere } from '../../../../lib/observe/explain/elsewhere.ts';
import { registerGateway } from '../../../../models/index.ts';
import { firstKind, openDatabase } from '../../../support/database/databases.ts';
import { addDevice, addUser } from '../../../support/database/records.ts';
import { fakeAsk, silentTrace } from '../../../support/observe/fake-gateway.ts';

for (const kind of firstKind())
  test(`${kind}: the sender is looked for, and a receiver that the packet path does not reach`, async (t) => {
    const database = await openDatabase(t, kind);
    const device = await addDevice(database, (await addUser(database)).id);
    const at = new Date();
    const seen = { gateway_id: 'there', latest_handshake: at, updated: at };
    await registerGateway(database, { id: 'there', name: 'there', startedAt: at });
    await database.models.DeviceStatus.create({ device_id: device.id, ...seen });
    const gateway = {
      id: 'here',
      ask: fakeAsk({
        diagnose: async (key) => (key === device.public_key ? silentTrace : null),
      }),
      deviceIdOf: (key: string) => (key === device.public_key ? device.id : null),
    };
    const from = { database, gateway };
    t.is((await senderElsewhere(from, { device, isSent: true }))?.gatewayId, 'there');
    t.is(await senderElsewhere(from, { device, isSent: false }), null);
    const unserved = { ...gateway, ask: fakeAsk({ diagnose: async () => null }) };
    t.is(await senderElsewhere({ database, gateway: unserved }, { device, isSent: true }), null);
    const to = device.public_key;
    const receiver = await receiverElsewhere(from, { reason: 'peer_elsewhere', to });
    t.is(receiver?.gatewayId, 'there');
    t.is(await receiverElsewhere(from, { reason: 'none', to }), null);
    t.is(await receiverElsewhere(from, { reason: 'peer_elsewhere', to: 'another key' }), null);
  });
