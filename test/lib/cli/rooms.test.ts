// The rooms of the domain that a command makes.

import test from 'ava';
import { openSettings } from '../../../config/index.ts';
import { commandLineCaller, performOperation } from '../../../lib/cli/perform.ts';
import { CommandRooms } from '../../../lib/cli/rooms.ts';
import { messageOf } from '../../../lib/kit/process/message.ts';
import { type OperationName, places } from '../../../lib/kit/operations/places.ts';
import { configOf } from '../../../lib/testing/settings.ts';
import { newId, registerGateway } from '../../../models/index.ts';
import { openDatabase } from '../../support/database/databases.ts';
import { addDevice, addUser } from '../../support/database/records.ts';

const names = Object.keys(places) as OperationName[];

test('a room is found for each operation, once for a command', async (t) => {
  const rooms = new CommandRooms(configOf({}), await openDatabase(t, 'sqlite'));
  for (const operation of names) {
    const room = await rooms.room(operation);
    const nothing = { params: null, validatesFirst: true, force: false };
    const said = room(commandLineCaller(), { ...nothing, operation }).then(() => '', messageOf);
    t.false((await said).startsWith('no room'), operation);
    t.is(await rooms.room(operation), room, operation);
  }
  const users = await rooms.room('createUser');
  t.is(await rooms.room('deleteUser'), users);
  const request = { params: {}, validatesFirst: false, force: false } as const;
  await t.throwsAsync(users(commandLineCaller(), { ...request, operation: 'createRule' }), {
    message: 'no room writes by createRule',
  });
});

test('a device that is made after another was changed may not have the key of the gateway', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const publicKey = Buffer.alloc(32, 7).toString('base64');
  await registerGateway(database, {
    id: newId(),
    name: 'gateway',
    startedAt: new Date(),
    publicKey,
    settings: JSON.stringify(openSettings(configOf({}))),
  });
  const user = await addUser(database, { email: 'ann@example.com' });
  const device = await addDevice(database, user.id);
  const made = new CommandRooms(configOf({}), database);
  const given = { rooms: async () => made, gateway: null };
  const named = { params: { id: device.id }, body: { device: { enabled: false } } };
  await performOperation(given, 'updateDevice', named);
  const body = { device: { user_id: user.id, name: 'phone', public_key: publicKey } };
  await t.throwsAsync(performOperation(given, 'createDevice', { body }), {
    message: /^public_key: /,
  });
});

test('rooms work with the settings and the key of the gateway that runs', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const own = configOf({ EXTERNAL_URL: 'https://shell.example/' });
  const alone = await new CommandRooms(own, database).context();
  t.is(alone.services.config.externalUrl, 'https://shell.example/');
  t.is(await alone.serverPublicKey(), '', 'none was made');
  const served = configOf({ EXTERNAL_URL: 'https://gateway.example/', DEFAULT_ACTION: 'drop' });
  await registerGateway(database, {
    id: newId(),
    name: 'gateway',
    startedAt: new Date(),
    publicKey: 'a key',
    settings: JSON.stringify(openSettings(served)),
  });
  const { services, fixed, serverPublicKey } = await new CommandRooms(own, database).context();
  t.is(services.config.externalUrl, 'https://gateway.example/');
  t.is(fixed.default_action, 'drop');
  t.is(await serverPublicKey(), 'a key');
});
