// The rooms of the domain that a command makes.

import test from 'ava';
import { openSettings } from '../../../config/index.ts';
import { CommandRooms } from '../../../lib/cli/rooms.ts';
import { type OperationName, places } from '../../../lib/kit/operations/places.ts';
import { configOf } from '../../../lib/testing/settings.ts';
import { newId, registerGateway } from '../../../models/index.ts';
import { openDatabase } from '../../support/database/databases.ts';

const names = Object.keys(places) as OperationName[];

test('a room is found for each operation, once for a command', async (t) => {
  const rooms = new CommandRooms(configOf({}), await openDatabase(t, 'sqlite'));
  for (const name of names) {
    const room = await rooms.room(name);
    t.notThrows(() => room(name), name);
    t.is(await rooms.room(name), room, name);
  }
  const users = await rooms.room('createUser');
  t.is(await rooms.room('deleteUser'), users);
  t.throws(() => users('createRule'), { message: 'no room writes by createRule' });
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
