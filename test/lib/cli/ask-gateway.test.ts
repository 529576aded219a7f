// Commands at the socket of a gateway: how devices are named, and what is said where the gateway
// refuses or none runs.

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import test from 'ava';
import { LocalGateway } from '../../../lib/cli/ask-gateway.ts';
import { newId } from '../../../models/index.ts';
import { addDevice, addUser } from '../../support/database/records.ts';
import { newDataDir, openLocally } from '../../support/api/local-socket.ts';

test('a device is found by its id, its address or its name', async (t) => {
  const { database, config } = await openLocally(t);
  const gateway = new LocalGateway(config);
  const one = await addUser(database, { email: 'ann@b.example' });
  const two = await addUser(database, { email: 'bob@b.example' });
  const first = { name: 'twin', ipv4: '100.64.9.1', ipv6: 'fd00::9:1' };
  const device = await addDevice(database, one.id, first);
  await addDevice(database, two.id, { name: 'twin', ipv4: '100.64.9.2' });
  for (const word of [device.id, device.id.toUpperCase(), '100.64.9.1', 'FD00::0009:1'])
    t.like(await gateway.finds.device(word), { id: device.id, name: 'twin' }, word);
  for (const word of ['nothing', '100.64.9.3', newId()])
    await t.throwsAsync(gateway.finds.device(word), {
      message: new RegExp(`^there is no device ${word}; DEVICE is .*; see: `),
    });
  await t.throwsAsync(gateway.finds.device('twin'), {
    message:
      'twin could mean 2 devices, so nothing was done; name one of them: ann@b.example/twin (100.64.9.1), bob@b.example/twin (100.64.9.2)',
    name: 'UsageError',
  });
});

test('of many devices of one name some are named, and where all are', async (t) => {
  const { database, config } = await openLocally(t);
  for (let i = 1; i <= 7; i += 1)
    await addDevice(database, (await addUser(database)).id, { name: 'twin' });
  await t.throwsAsync(new LocalGateway(config).finds.device('twin'), {
    message: /^twin could mean 7 devices.*, … all are in: .*device list$/,
  });
});

test('a refusal is a sentence', async (t) => {
  const { config } = await openLocally(t);
  const gateway = new LocalGateway(config);
  await t.throwsAsync(gateway.ask('POST', '/v0/users', { user: {} }), {
    message: 'the gateway refused with 403 forbidden',
  });
  await t.throwsAsync(gateway.ask('GET', '/v0/nothing'), { message: /^there is nothing of that/ });
  await t.throwsAsync(gateway.ask('POST', '/v0/explain', { explain: {} }), {
    message: /^destination: can't be blank; /,
  });
  // As where the database is away.
  await t.throwsAsync(gateway.ask('GET', '/v0/flows'), {
    message: /^the database of the gateway does not answer .*, and devices go on .* doctor$/,
  });
});

test('a gateway of another version may answer with sentences alone', async (t) => {
  const dataDir = newDataDir(t);
  const answers: object[] = [
    { errors: { from: ['is invalid', 'is late'] } },
    { errors: { auth: 'invalid_token' }, detail: 'this token expired at noon' },
  ];
  const server = createServer((_request, response) => {
    response.statusCode = 422;
    response.end(JSON.stringify(answers.shift()));
  });
  t.teardown(() => server.close());
  await once(server.listen(join(dataDir, 'gateway.sock')), 'listening');
  const gateway = new LocalGateway({ dataDir });
  const message = 'from: is invalid; from: is late';
  await t.throwsAsync(gateway.ask('GET', '/v0/flows'), { message });
  await t.throwsAsync(gateway.ask('GET', '/v0/flows'), { message: 'this token expired at noon' });
});

test('where no gateway runs, the sentence says where to type the command', async (t) => {
  const dataDir = newDataDir(t);
  const gateway = new LocalGateway({ dataDir });
  const message = `no gateway runs here (nothing listens at ${dataDir}/gateway.sock); run this on the host of the gateway, with its DATA_DIR`;
  await t.throwsAsync(gateway.ask('GET', '/v0/users'), { message });
  // A killed gateway leaves a file that nobody listens at.
  writeFileSync(`${dataDir}/gateway.sock`, '');
  await t.throwsAsync(gateway.ask('GET', '/v0/users'), { message });
});
