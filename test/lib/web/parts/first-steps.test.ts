// The first steps with a new gateway: decided from what there is, and put away for good.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { recordStatus } from '../../../../models/index.ts';
import { addDevice } from '../../../models/fixtures.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { checkGuard, openConsole } from '../../../support/web/console.ts';
import { addPerson, Visitor } from '../../../support/web/visitor.ts';

for (const kind of firstKind()) {
  test(`${kind}: the first steps are decided from what there is, and end with the last`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, database, plainUser } = console;
    const states = async (): Promise<string[]> => {
      // A reading of the dashboard is used for half a second.
      await sleep(600);
      const { text } = await admin.get('/dashboard');
      return [...text.matchAll(/<span class="state">(.*?)<\/span>/g)].map(([, said = '']) => said);
    };
    t.deepEqual(await states(), ['done', 'to do', 'done', 'to do', 'to do']);
    const before = await admin.get('/dashboard');
    t.regex(before.text, /endpoint of devices is 127\.0\.0\.1:51820\. That is the device itself/);
    t.true(before.text.includes('EXTERNAL_URL is <span class="mono">http://'));
    t.regex(before.text, /<code>[^<]*import wg-easy FILE/);
    t.is(before.text.split('That is the device itself').length, 2, 'it is said once');
    const bad = { default_client_endpoint: 'vpn.example.com:70000' };
    const refused = await admin.post('/dashboard/endpoint', bad);
    t.is(refused.status, 422);
    t.regex(refused.text, /value="vpn\.example\.com:70000"[^>]*aria-invalid="true"/);
    const empty = await admin.post('/dashboard/endpoint', { default_client_endpoint: ' ' });
    t.is(empty.status, 422);
    t.true(empty.text.includes('Please fill this in'));
    const own = { default_client_endpoint: '127.0.0.1' };
    t.is((await admin.post('/dashboard/endpoint', own)).location, '/dashboard');
    const warned = await admin.get('/dashboard');
    t.regex(warned.text, /<p class="note warning" role="status">It is saved, but no device can/);
    t.regex(warned.text, /value="127\.0\.0\.1"[^>]*-warning"/);
    t.regex(warned.text, /<p class="error warned" id="[^"]*-warning">The endpoint of devices is/);
    const good = { default_client_endpoint: ' vpn.example.com ' };
    t.is((await admin.post('/dashboard/endpoint', good)).location, '/dashboard');
    t.deepEqual(await states(), ['done', 'done', 'done', 'to do', 'to do']);
    const device = await addDevice(database, plainUser);
    t.deepEqual(await states(), ['done', 'done', 'done', 'done', 'to do']);
    const seen = { latestHandshake: new Date(), remoteIp: null, remotePort: null };
    await recordStatus(database, 'g', [{ deviceId: device.id, ...seen, rxBytes: 1, txBytes: 2 }]);
    t.deepEqual(await states(), []);
    await checkGuard(t, console, { forms: ['/dashboard/endpoint', '/dashboard/first_steps'] });
  });

  test(`${kind}: an administrator puts the first steps away, for good and for nobody else`, async (t) => {
    const { admin, database, ...server } = await openConsole(t, kind);
    await addPerson(database, 'other@example.com', { role: 'admin' });
    const other = new Visitor(server);
    await other.signIn('other@example.com');
    const isShown = async (visitor: Visitor): Promise<boolean> =>
      (await visitor.get('/dashboard')).text.includes('id="first-steps"');
    t.true((await isShown(admin)) && (await isShown(other)));
    t.is((await admin.post('/dashboard/first_steps')).location, '/dashboard');
    t.true((await admin.get('/dashboard')).text.includes('not shown to you any more'));
    t.false(await isShown(admin));
    t.true(await isShown(other));
    await admin.post('/sign_out');
    await admin.signIn('boss@example.com');
    t.false(await isShown(admin), 'the database keeps it');
    t.regex((await admin.get('/dashboard')).text, /<li class="note warning">.*127\.0\.0\.1/);
  });

  test(`${kind}: an endpoint that the environment fixes names its variable, and no button`, async (t) => {
    const settings = { DEFAULT_CLIENT_ENDPOINT: '127.0.0.1:51820' };
    const { admin } = await openConsole(t, kind, settings);
    const { text } = await admin.get('/dashboard');
    t.true(text.includes('Fixed by the environment variable DEFAULT_CLIENT_ENDPOINT'));
    t.false(text.includes('action="/dashboard/endpoint"'));
    const sent = { default_client_endpoint: 'vpn.example.com' };
    t.is((await admin.post('/dashboard/endpoint', sent)).status, 422);
  });
}
