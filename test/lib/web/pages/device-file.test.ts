// The client's file of one's own device: what it holds, whether it is out of date, and another key
// pair. The private key is never asked for. api.md, section 5.

import test from 'ava';
import { PRIVATE_KEY_BLANK } from '../../../../lib/devices/client-config.ts';
import { databaseKinds } from '../../../support/databases.ts';
import { addOwn, BY_DEFAULT, configure, visit } from '../../../support/portal.ts';
import { newKey, openServer } from '../../../support/server.ts';

const ANN = 'ann@example.com';

for (const kind of databaseKinds()) {
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
    await ann.post(`${one}/edit`, { name: 'renamed', ...BY_DEFAULT });
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
    t.regex(page.text, /laptop has another key pair/);
    t.false(page.text.includes('is out of date'));
    const other = await addOwn(server, ann, { name: 'phone' });
    for (const bad of ['', 'x', other.public_key, server.services.serverPublicKey]) {
      const refused = await ann.post(`${one}/key`, { public_key: bad });
      t.is(refused.status, 422, bad);
      t.regex(refused.text, /id="field-public_key-fault"/);
    }
    t.is((await device.reload()).public_key, public_key);
  });
}
