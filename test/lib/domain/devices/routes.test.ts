// Networks behind devices: which ones a device can have. docs/api.md#networks-behind-a-device.

import { networkInterfaces } from 'node:os';
import test from 'ava';
import {
  newId,
  recordStatus,
  registerGateway,
  writeTransaction,
} from '../../../../models/index.ts';
import { newKey, openServer, type TestServer } from '../../../support/api/server.ts';
import { databaseKinds } from '../../../support/database/databases.ts';

/** Makes a device with networks behind it; its answer. */
async function make({ send, adminId }: TestServer, routes: unknown) {
  const device = { user_id: adminId, public_key: newKey(), routes };
  return send('POST', '/v0/devices', { body: { device } });
}

for (const kind of databaseKinds()) {
  test(`${kind}: networks are kept, shown, replaced and emptied`, async (t) => {
    const server = await openServer(t, kind);
    const { send } = server;
    const made = await make(server, ['10.77.0.0/16', '2001:db8:77::/48', '10.78.0.1']);
    t.is(made.status, 201, made.text);
    t.deepEqual(made.body.data.routes, ['10.77.0.0/16', '2001:db8:77::/48', '10.78.0.1']);
    const path = `/v0/devices/${made.body.data.id}`;
    t.deepEqual((await send('GET', path)).body.data.routes, made.body.data.routes);
    const put = async (routes: unknown) => send('PATCH', path, { body: { device: { routes } } });
    t.deepEqual(
      (await put(['10.77.0.0/17'])).body.data.routes,
      ['10.77.0.0/17'],
      'a part of its own',
    );
    t.deepEqual((await send('PATCH', path, { body: { device: { name: 'x' } } })).body.data.routes, [
      '10.77.0.0/17',
    ]);
    t.deepEqual((await put([])).body.data.routes, []);
    t.deepEqual((await put(null)).body.data.routes, []);
    const other = await make(server, undefined);
    t.deepEqual(other.body.data.routes, []);
  });

  test(`${kind}: no two devices share a network, however they are made`, async (t) => {
    const server = await openServer(t, kind);
    const first = await make(server, ['10.77.0.0/16']);
    const name = first.body.data.name as string;
    for (const network of ['10.77.0.0/16', '10.77.5.0/24', '10.0.0.0/8', '10.77.5.9']) {
      const { status, body } = await make(server, [network]);
      t.is(status, 422);
      const text = `${network} overlaps with 10.77.0.0/16, which is behind the device ${name}`;
      t.deepEqual(body.errors, { routes: [text] });
    }
    t.is((await make(server, ['10.76.0.0/16'])).status, 201);
    // Many are made in one transaction.
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => make(server, ['172.30.0.0/16'])),
    );
    t.is(answers.filter(({ status }) => status === 201).length, 1);
    await server.send('DELETE', `/v0/devices/${first.body.data.id}`);
    t.is((await make(server, ['10.77.0.0/16'])).status, 201, 'free again');
  });

  test(`${kind}: what the gateway itself needs is never behind a device`, async (t) => {
    const server = await openServer(t, kind);
    const errors = async (...routes: string[]): Promise<unknown> =>
      (await make(server, routes)).body.errors;
    for (const network of ['0.0.0.0/0', '::/0', '10.0.0.0/0'])
      t.deepEqual(await errors(network), {
        routes: [`${network} is everything; a device is no default route`],
      });
    for (const [network, other] of [
      ['127.0.0.0/8', '127.0.0.0/8'],
      ['169.254.1.0/24', '169.254.0.0/16'],
      ['224.0.0.0/3', '224.0.0.0/4'],
      ['::1', '::1/128'],
      ['fe80::/64', 'fe80::/10'],
    ])
      t.deepEqual(await errors(String(network)), {
        routes: [`${network} overlaps with ${other}, which is reserved`],
      });
    for (const twin of ['10.77.1.0/24', '10.77.0.0/16'])
      t.deepEqual(await errors('10.77.0.0/16', twin), {
        routes: [`${twin} overlaps with 10.77.0.0/16, which is in the list too`],
      });
    t.deepEqual(await errors('10.77.0.0/33'), { routes: ['is invalid'] });
    const { wireguardIpv4Network: own } = server.services.config;
    t.deepEqual(await errors(own), {
      routes: [`${own} overlaps with ${own}, the network of the tunnel`],
    });
    const [name, local] =
      Object.entries(networkInterfaces())
        .flatMap(([name, addresses = []]) => addresses.map((address) => [name, address] as const))
        .find(([, { internal, family }]) => !internal && family === 'IPv4') ?? [];
    if (local !== undefined) {
      const what = `the network of the interface ${name} of this gateway`;
      const text = `${local.address} overlaps with ${local.cidr}, ${what}`;
      t.deepEqual(await errors(local.address), { routes: [text] });
    }
  });

  test(`${kind}: an endpoint of a device that is connected is in no such network`, async (t) => {
    const server = await openServer(t, kind);
    const { database } = server;
    const { id, name } = (await make(server, undefined)).body.data;
    const gatewayId = newId();
    await registerGateway(database, { id: gatewayId, name: 'g', startedAt: new Date() });
    const seen = (at: number): Promise<unknown> =>
      recordStatus(database, gatewayId, [
        {
          deviceId: id,
          latestHandshake: new Date(at),
          remoteIp: '203.0.113.9',
          remotePort: 40_000,
          rxBytes: 0,
          txBytes: 0,
        },
      ]);
    await seen(Date.now() - 1_000);
    const refused = await make(server, ['203.0.113.0/24']);
    t.deepEqual(refused.body.errors, {
      routes: [`203.0.113.0/24 holds 203.0.113.9, where the gateway reaches the device ${name}`],
    });
    await database.models.DeviceStatus.destroy({ where: {} });
    await seen(Date.now() - 600_000);
    t.is((await make(server, ['203.0.113.0/24'])).status, 201, 'it was there long ago');
  });
}

test('all that the gateway asks is reached past the tunnel', async (t) => {
  const server = await openServer(t, 'sqlite', {
    SMTP_URL: 'smtp://203.0.113.25',
    MAIL_FROM: 'postern@example.com',
    FLOW_LOG: 'ipfix://203.0.113.47:4739',
  });
  for (const [network, address, what] of [
    ['203.0.113.24/30', '203.0.113.25', 'the mail server'],
    ['203.0.113.47', '203.0.113.47', 'the collector of the flow log'],
    ['fd00:ec2::254', 'fd00:ec2::254', 'the credentials of its cloud'],
  ] as const)
    t.deepEqual((await make(server, [network])).body.errors, {
      routes: [`${network} holds ${address}, where the gateway reaches ${what}`],
    });
  await writeTransaction(server.database, async (transaction) => {
    const row = await server.database.models.Configuration.findOne({ transaction });
    const provider = {
      id: 'okta',
      label: 'Okta',
      client_id: 'postern',
      client_secret: 'hush',
      discovery_document_uri: 'https://203.0.113.80/.well-known/openid-configuration',
      auto_create_users: false,
      scope: 'openid email',
      response_type: 'code' as const,
      redirect_uri: null,
    };
    await row?.update({ openid_connect_providers: [provider] }, { transaction });
  });
  t.deepEqual((await make(server, ['203.0.113.80/28'])).body.errors, {
    routes: [
      '203.0.113.80/28 holds 203.0.113.80, where the gateway reaches the identity provider okta',
    ],
  });
});
