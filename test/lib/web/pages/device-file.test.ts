// The client's file of a device: what it holds, whether it is out of date, and another key
// pair. The private key is never asked for. docs/api.md#devices.

import test from 'ava';
import { PRIVATE_KEY_BLANK } from '../../../../lib/domain/devices/client-config.ts';
import { newId, recordStatus } from '../../../../models/index.ts';
import { addDevice } from '../../../models/fixtures.ts';
import { checkGuard, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { addOwn, configure, visit } from '../../../support/web/portal.ts';
import { newKey, openServer } from '../../../support/api/server.ts';

const ANN = 'ann@example.com';

for (const kind of firstKind()) {
  test(`${kind}: the file is shown and downloaded, the private key left out`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const device = await addOwn(server, ann, { name: 'Büro "1"\r\nx: y' });
    const page = await ann.get(`/user_devices/${device.id}/file`);
    t.is(page.headers['cache-control'], 'no-store');
    const [, shown = ''] = /<pre [^>]*>([^<]*)<\/pre>/.exec(page.text) ?? [];
    const { status, text, headers } = await ann.get(`/user_devices/${device.id}/file/download`);
    t.is(status, 200);
    t.is(headers['content-disposition'], 'attachment; filename="Buro-1-x-y.conf"');
    t.is(headers['cache-control'], 'no-store');
    t.is(text, shown);
    t.true(text.includes(`PrivateKey = ${PRIVATE_KEY_BLANK}\n`));
    t.true(text.includes(`PresharedKey = ${device.preshared_key}\n`));
    t.true(text.includes(`PublicKey = ${server.services.serverPublicKey}\n`));
    t.true(text.includes(`Address = ${device.ipv4}/32, ${device.ipv6}/128\n`));
    t.regex(text, /^Endpoint = 127\.0\.0\.1:51820$/m);
  });

  test(`${kind}: the page of a file waits for the first handshake, and says when it is there`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const eve = await visit(server, 'eve@example.com');
    const boss = await visit(server, 'boss@example.com', 'admin');
    const { id } = await addOwn(server, ann, { name: 'laptop' });
    const [own, all] = [`/user_devices/${id}`, `/devices/${id}`];
    const ask = async (visitor: typeof ann, path: string) => {
      const { status, text } = await visitor.get(`${path}/handshake`);
      return status === 200 ? (JSON.parse(text) as { isConnected: boolean }).isConnected : status;
    };
    const isShown = async (visitor: typeof ann, path: string) =>
      (await visitor.get(`${path}/file`)).text.includes(`data-first-handshake="${path}/handshake"`);
    t.deepEqual([await ask(ann, own), await ask(boss, all)], [false, false]);
    t.deepEqual([await ask(eve, own), await ask(ann, all)], [404, 403]);
    t.deepEqual([await isShown(ann, own), await isShown(boss, all)], [true, true]);
    const report = { deviceId: id, latestHandshake: new Date(), remoteIp: null, remotePort: null };
    await recordStatus(server.database, 'g', [{ ...report, rxBytes: 0, txBytes: 0 }]);
    t.deepEqual([await ask(ann, own), await ask(boss, all)], [true, true]);
    t.deepEqual([await isShown(ann, own), await isShown(boss, all)], [false, false]);
  });

  test(`${kind}: administrators see in the list and on the page whose file is out of date`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const boss = await visit(server, 'boss@example.com', 'admin');
    const { id } = await addOwn(server, ann, { name: 'laptop' });
    const said = async () => [
      (await boss.get('/devices')).text.includes('File is out of date'),
      (await boss.get(`/devices/${id}`)).text.includes('file of this device is out of date'),
    ];
    t.deepEqual(await said(), [false, false]);
    await configure(server, { default_client_dns: ['9.9.9.9'] });
    t.deepEqual(await said(), [true, true]);
  });

  test(`${kind}: a file is out of date once what it holds changed, until it was replaced`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const device = await addOwn(server, ann, { name: 'laptop' });
    const one = `/user_devices/${device.id}`;
    const isOld = async () => {
      const [list, page] = [await ann.get('/user_devices'), await ann.get(one)];
      const said = list.text.includes('File is out of date');
      t.is(page.text.includes('is out of date'), said, 'both pages say the same');
      return said;
    };
    t.false(await isOld());
    await ann.post(`${one}/edit`, { name: 'renamed' });
    t.false(await isOld(), 'a name is nothing of the file');
    await configure(server, { default_client_dns: ['9.9.9.9'] });
    t.true(await isOld());
    await configure(server, { default_client_dns: ['1.1.1.1', '1.0.0.1'] });
    t.false(await isOld(), 'it fits again');
    await server.send('PATCH', `/v0/devices/${device.id}`, {
      body: { device: { preshared_key: newKey() } },
    });
    t.true(await isOld());
    const { text } = await ann.get(`${one}/file`);
    const [, hash = ''] = /name="hash" value="([0-9a-f]{64})"/.exec(text) ?? [];
    const before = (await device.reload()).updated_at.getTime();
    // What was shown is old again by now, and stays so.
    await configure(server, { default_client_mtu: 1300 });
    t.is((await ann.post(`${one}/file`, { hash })).location, one);
    t.true(await isOld());
    await configure(server, { default_client_mtu: 1280 });
    t.false(await isOld());
    for (const bad of ['', 'x', `${hash}0`, hash.toUpperCase()])
      await ann.post(`${one}/file`, { hash: bad });
    t.false(await isOld(), 'nonsense is not noted');
    t.is((await device.reload()).updated_at.getTime(), before);
  });

  test(`${kind}: nobody knows of a file that was made elsewhere`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const user = await server.database.models.User.findOne({
      where: { email: ANN },
      rejectOnEmpty: true,
    });
    const body = { device: { user_id: user.id, public_key: newKey(), name: 'by-api' } };
    await server.send('POST', '/v0/devices', { body });
    await configure(server, { default_client_dns: [] });
    const { text } = await ann.get('/user_devices');
    t.true(text.includes('by-api'));
    t.false(text.includes('out of date'));
  });

  test(`${kind}: another key pair replaces the public key, and its file is the present one`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const device = await addOwn(server, ann, { name: 'laptop' });
    const one = `/user_devices/${device.id}`;
    await configure(server, { default_client_dns: [] });
    const public_key = newKey();
    const answer = await ann.post(`${one}/key`, { public_key, preshared_key: newKey(), name: 'x' });
    t.is(answer.location, `${one}/file`);
    const { preshared_key } = device;
    await device.reload();
    t.deepEqual([device.public_key, device.name], [public_key, 'laptop']);
    t.is(device.preshared_key, preshared_key);
    const page = await ann.get(one);
    t.regex(page.text, /The new key of laptop is in force/);
    t.false(page.text.includes('is out of date'));
    const again = await ann.post(`${one}/key`, { public_key });
    t.is(again.location, `${one}/file`, 'the answer may have been lost');
    const other = await addOwn(server, ann, { name: 'phone' });
    for (const bad of ['', 'x', other.public_key, server.services.serverPublicKey]) {
      const refused = await ann.post(`${one}/key`, { public_key: bad });
      t.is(refused.status, 422, bad);
      t.regex(refused.text, /id="field-public_key-error"/);
    }
    t.is((await device.reload()).public_key, public_key);
  });

  test(`${kind}: an administrator hands out a device: its file, and another key pair`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, database, plainUser } = console;
    const { id } = await addDevice(database, plainUser, { name: 'laptop' });
    const here = `/devices/${id}`;
    await checkGuard(t, console, {
      pages: [`${here}/file`, `${here}/file/download`],
      forms: [`${here}/key`, `${here}/file`],
    });
    const shown = await admin.get(`${here}/file`);
    t.true(shown.text.includes('Give the file to user@example.com'));
    const { headers, text } = await admin.get(`${here}/file/download`);
    t.is(headers['content-disposition'], 'attachment; filename="laptop.conf"');
    t.true(shown.text.includes(text));
    const public_key = newKey();
    const answer = await admin.post(`${here}/key`, { public_key });
    t.is(answer.location, `${here}/file`);
    t.is((await database.models.Device.findByPk(id))?.public_key, public_key);
    const missing = await admin.get(`/devices/${newId()}/file`);
    t.is(missing.status, 404);
  });

  test(`${kind}: a page without the private key offers no complete file`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const device = await addOwn(server, ann, { name: 'laptop' });
    const { text } = await ann.get(`/user_devices/${device.id}/file`);
    t.true(text.includes('The private key is missing'));
    const [, link = ''] = /<a ([^>]*data-download[^>]*>[^<]*)</.exec(text) ?? [];
    t.regex(link, /class="button quiet"/);
    t.regex(link, />Download it without the private key$/);
  });

  test(`${kind}: the file says what its DNS line needs, and only where there is one`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const device = await addOwn(server, ann, { name: 'laptop' });
    const file = async () => (await ann.get(`/user_devices/${device.id}/file`)).text;
    await configure(server, { default_client_dns: ['9.9.9.9'] });
    t.regex(await file(), /resolvconf: command not found/);
    await configure(server, { default_client_dns: [] });
    t.notRegex(await file(), /resolvconf/);
  });
}
