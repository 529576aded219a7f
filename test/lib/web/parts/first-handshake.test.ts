// What the page of a file says until the first handshake: owners read plain words.

import test from 'ava';
import { addDevice } from '../../../models/fixtures.ts';
import { openConsole } from '../../../support/web/console.ts';

test('who waits reads what keeps the device from a handshake', async (t) => {
  const { admin, user, database, plainUser } = await openConsole(t, 'sqlite');
  const { id } = await addDevice(database, plainUser, { name: 'laptop' });
  const pages = [admin.get(`/devices/${id}/handshake`), user.get(`/user_devices/${id}/handshake`)];
  for (const { text } of await Promise.all(pages))
    t.like(JSON.parse(text), {
      isConnected: false,
      text: 'Waiting for the first handshake. Import the file and switch the tunnel on.',
    });
});
