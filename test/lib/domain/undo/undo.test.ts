// What can be offered to be undone: changes that a browser of an administrator makes, in fields
// that may be given back. How it is undone: test/lib/web/pages/undo.test.ts.

import test from 'ava';
import { addDevice } from '../../../models/fixtures.ts';
import { openConsole } from '../../../support/web/console.ts';

test('programs and people of the portal are offered nothing, administrators limits', async (t) => {
  const { admin, send, database, plainUser, user } = await openConsole(t, 'sqlite');
  const [kept, other] = [
    await addDevice(database, plainUser),
    await addDevice(database, plainUser),
  ];
  const body = { device: { enabled: false } };
  t.is((await send('PATCH', `/v0/devices/${kept.id}`, { body })).status, 200);
  await user.get(`/user_devices/${other.id}`);
  t.is((await user.post(`/user_devices/${other.id}/delete`)).status, 303);
  t.is(await database.models.Undo.count(), 0);
  await admin.get('/devices');
  const limit = async (text: string) => {
    await admin.post('/devices/many', { do: 'limit', limit_down: text, limit_up: '', id: kept.id });
    await kept.reload();
    return kept.limit_down;
  };
  t.is(await limit('1 Gbit/s'), 1_000_000_000);
  t.is(await database.models.Undo.count(), 1);
  t.is(await limit('2 MB/s'), 1_000_000_000);
  t.regex((await admin.get('/devices')).text, /The limit “2 MB\/s” is /);
  t.is(await limit(''), null);
});
