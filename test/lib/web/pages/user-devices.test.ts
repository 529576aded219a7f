// The own devices by form: added, shown, changed and removed, by nobody else and only if the
// configuration allows it. docs/api.md#devices.

import { setTimeout } from 'node:timers/promises';
import test from 'ava';
import type { Problem } from '../../../../lib/reconcile/known.ts';
import { readAuditEntries, readClientFiles, writeTransaction } from '../../../../models/index.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { addByForm, addOwn, configure, visit } from '../../../support/web/portal.ts';
import { newKey, openServer } from '../../../support/api/server.ts';
import { Visitor } from '../../../support/web/visitor.ts';
import { fakeObserved } from '../../../support/observe/fake-gateway.ts';

const ANN = 'ann@example.com';
const BOB = 'bob@example.com';

for (const kind of firstKind()) {
  test(`${kind}: a user adds a device and comes to the page of its file`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const empty = await ann.get('/user_devices');
    t.regex(empty.text, /No device yet/);
    t.is((await ann.get('/')).location, '/user_devices', 'here a person begins');
    const form = await ann.get('/user_devices/new');
    t.is(form.status, 200);
    t.regex(form.text, /placeholder="0\.0\.0\.0\/0, ::\/0 · the client default"/);
    const public_key = newKey();
    const device = await addOwn(server, ann, {
      name: ' laptop ',
      description: 'in the bag',
      public_key: ` ${public_key} `,
      dns: '9.9.9.9 , dns.example',
      mtu: ' ',
    });
    t.is(device.name, 'laptop');
    t.is(device.description, 'in the bag');
    t.is(device.public_key, public_key);
    t.deepEqual(device.dns, ['9.9.9.9', 'dns.example']);
    t.true(device.use_default_mtu, 'what is empty follows the default');
    const list = await ann.get('/user_devices');
    t.regex(list.text, /laptop is added/);
    t.regex(list.text, /1 of at most 10 devices/);
    t.regex(list.text, /Never seen/);
    const shown = await ann.get(`/user_devices/${device.id}`);
    t.is(shown.status, 200);
    t.regex(shown.text, /9\.9\.9\.9, dns\.example/);
    t.true(shown.text.includes(String(device.ipv4)));
    t.false(shown.text.includes('out of date'));
  });

  test(`${kind}: an owner switches a lost device off, and on unless an administrator did`, async (t) => {
    const server = await openServer(t, kind);
    const { database } = server;
    const [ann, bob] = [await visit(server, ANN), await visit(server, BOB)];
    const boss = await visit(server, 'boss@example.com', 'admin');
    const phone = await addOwn(server, ann, { name: 'phone' });
    // It needs no right to manage devices, because it takes access away.
    await configure(server, { allow_unprivileged_device_management: false });
    const here = `/user_devices/${phone.id}`;
    const state = async () => {
      const { disabled_at: at, disabled_by: by } = await phone.reload();
      return [at !== null, by];
    };
    t.is((await bob.post(`${here}/switch_off`)).status, 404, 'of nobody else');
    t.deepEqual(await state(), [false, null]);
    t.is((await ann.post(`${here}/switch_off`)).location, here);
    t.deepEqual(await state(), [true, 'owner']);
    const off = await ann.get(here);
    t.regex(off.text, /You switched it off <time/);
    t.regex(off.text, /end its <a href="\/user_account">browser sessions<\/a> too/);
    t.true(off.text.includes(`action="${here}/switch_on"`));
    t.regex((await boss.get(`/devices/${phone.id}`)).text, /Its owner switched it off/);
    t.is((await bob.post(`${here}/switch_on`)).status, 404);
    await ann.post(`${here}/switch_on`);
    t.deepEqual(await state(), [false, null]);
    const entries = await readAuditEntries(database, { limit: 2, recordId: phone.id });
    t.deepEqual(
      entries.map(({ email, changes }) => [email, changes['disabled_by']]),
      [
        [ANN, { from: null, to: 'owner' }],
        [ANN, { from: 'owner', to: null }],
      ],
    );
    // What an administrator switched off stays off, also if the owner did so before.
    await ann.post(`${here}/switch_off`);
    await boss.get('/devices');
    await boss.post(`/devices/${phone.id}/switches`, { do: 'off' });
    t.deepEqual(await state(), [true, 'administrator']);
    const theirs = await ann.get(here);
    t.false(theirs.text.includes('switch_on'));
    t.false(theirs.text.includes('switch_off'));
    t.is((await ann.post(`${here}/switch_on`)).location, here);
    t.regex((await ann.get(here)).text, /An administrator switched it off; ask one of them/);
    t.deepEqual(await state(), [true, 'administrator']);
    await ann.post(`${here}/switch_off`);
    t.deepEqual(await state(), [true, 'administrator'], 'the owner does not take it over');
  });

  test(`${kind}: an owner and an administrator at once: the device never comes on against both`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const boss = await visit(server, BOB, 'admin');
    const phone = await addOwn(server, ann, { name: 'phone' });
    await boss.get('/devices');
    for (let n = 0; n < 5; n += 1) {
      await ann.post(`/user_devices/${phone.id}/switch_off`);
      await Promise.all([
        ann.post(`/user_devices/${phone.id}/switch_on`),
        boss.post(`/devices/${phone.id}/switches`, { do: 'off', sure: 'true' }),
      ]);
      const { disabled_at: at, disabled_by: by } = await phone.reload();
      t.deepEqual([at !== null, by], [true, 'administrator']);
      await boss.post(`/devices/${phone.id}/switches`, { do: 'on' });
    }
  });

  test(`${kind}: people are greeted by their names, which are text`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    t.false((await ann.get('/user_devices')).text.includes('Hello'));
    const body = { user: { name: '<b>Ann</b>' } };
    t.is((await server.send('PATCH', `/v0/users/${ANN}`, { body })).status, 200);
    t.true((await ann.get('/user_devices')).text.includes('Hello, &lt;b&gt;Ann&lt;/b&gt;.'));
  });

  test(`${kind}: of a long description the trail keeps a part, of an administrator's all`, async (t) => {
    const server = await openServer(t, kind);
    const [ann, boss] = [await visit(server, ANN), await visit(server, BOB, 'admin')];
    const description = 'd'.repeat(1_000);
    const { id: own } = await addOwn(server, ann, { name: 'own', description });
    const { id: theirs } = await addOwn(server, boss, { name: 'theirs', description });
    const kept = async (record: string): Promise<unknown> => {
      const [entry] = await readAuditEntries(server.database, { limit: 1, recordId: record });
      return entry?.changes['description'];
    };
    t.deepEqual(await kept(theirs), { to: description });
    const { to } = (await kept(own)) as { to: string };
    t.regex(to, /^d{256}… \(1000 characters, SHA-256 [0-9a-f]{64}\)$/);
  });

  test(`${kind}: the pages of a device that passes no packets say why, to user and administrator`, async (t) => {
    const problems: Problem[] = [];
    const observed = fakeObserved({ problems: () => problems });
    const server = await openServer(t, kind, {}, { observed });
    const [ann, boss] = [await visit(server, ANN), await visit(server, BOB, 'admin')];
    const { id } = await addOwn(server, ann);
    t.notRegex((await ann.get(`/user_devices/${id}`)).text, /cannot serve/);
    problems.push({ table: 'devices', id, message: 'its preshared key does not open' });
    const own = (await ann.get(`/user_devices/${id}`)).text;
    t.regex(own, /The gateway cannot serve this device at present/);
    t.notRegex(own, /preshared key does not open/);
    t.regex((await boss.get(`/devices/${id}`)).text, /its preshared key does not open\./);
  });

  test(`${kind}: users read that an administrator disabled a device, or when it expires`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const device = await addOwn(server, ann, { name: 'laptop' });
    const here = `/user_devices/${device.id}`;
    const texts = async (switches: object): Promise<[list: string, page: string]> => {
      await server.send('PATCH', `/v0/devices/${device.id}`, { body: { device: switches } });
      return [(await ann.get('/user_devices')).text, (await ann.get(here)).text];
    };
    for (const text of await texts({})) t.notRegex(text, /Switched off|Ended|It ended|It works/);
    const [offList, off] = await texts({ enabled: false });
    t.regex(offList, /badge bad"[^>]*>Switched off</);
    t.regex(
      off,
      /Switched off since <time[^<]*<\/time>: it passes no packet\. Ask an administrator/,
    );
    const [, until] = await texts({ enabled: true, ends_at: '2199-01-02T03:04:00Z' });
    t.regex(
      until,
      /It works until <time datetime="2199-01-02T03:04:00\.000Z">2199-01-02 03:04 UTC</,
    );
    const [endedList, ended] = await texts({ ends_at: '2020-01-02T03:04:00Z' });
    t.regex(endedList, /badge bad"[^>]*>Ended</);
    t.regex(ended, /It ended at <time datetime="2020-01-02T03:04:00\.000Z">/);
  });

  test(`${kind}: an empty limit of an administrator's own device shows what it means`, async (t) => {
    const server = await openServer(t, kind);
    const boss = await visit(server, 'boss@example.com', 'admin');
    const { text } = await boss.get('/user_devices/new');
    t.regex(text, /name="limit_down"[^>]* placeholder="no limit"/);
  });

  test(`${kind}: a form with errors is shown again with what was typed`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    await addOwn(server, ann, { name: 'laptop' });
    const answer = await addByForm(ann, {
      name: 'laptop',
      description: 'typed',
      public_key: 'no key',
      mtu: '99999',
    });
    t.is(answer.status, 422);
    t.regex(answer.text, /This is already in use/);
    t.regex(answer.text, /This should have 44 characters/);
    t.regex(answer.text, /Please give 1500 or less/);
    for (const typed of ['>\ntyped<', 'value="no key"', 'value="99999"'])
      t.true(answer.text.includes(typed), typed);
    t.is(await server.database.models.Device.count(), 1);
  });

  test(`${kind}: an invalid entry is quoted with a valid example, and an incomplete address is refused`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    await ann.get('/user_devices/new');
    const { text, status } = await addByForm(ann, {
      dns: '1.1.1',
      allowed_ips: '10.0.0.0/8, 10.0.0.300',
    });
    t.is(status, 422);
    t.regex(text, /“1\.1\.1” is not an address: an IPv4 address has four numbers/);
    t.regex(text, /“10\.0\.0\.300” is neither an address nor a network/);
    t.regex(text, /Nothing was saved\. Please correct what is marked below\./);
    t.is(await server.database.models.Device.count(), 0);
  });

  test(`${kind}: who pastes the address of a page into a device reads which host to give`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const { id } = await addOwn(server, ann, { name: 'laptop' });
    const typed = { name: 'phone', endpoint: 'https://vpn.example.com/devices' };
    for (const path of ['new', `${id}/edit`]) {
      const fields = { ...typed, public_key: newKey(), dns: 'https://a.example:443/, b!' };
      const { text, status } = await ann.post(`/user_devices/${path}`, fields);
      t.is(status, 422, path);
      t.regex(text, /devices” is the address of a page: give its host alone, vpn\.example\.com</);
      t.regex(text, /“https:\/\/a\.example:443\/” is the address of a page: .* alone, a\.example;/);
      t.regex(text, /“b!” is neither an address nor the name of a host/);
    }
  });

  test(`${kind}: a form that is sent again finds no device of somebody else`, async (t) => {
    const server = await openServer(t, kind);
    const [ann, bob] = [await visit(server, ANN), await visit(server, BOB)];
    const { id, public_key } = await addOwn(server, bob);
    const fields = { public_key, again: 'true' };
    t.is((await addByForm(bob, fields)).location, `/user_devices/${id}/file`);
    const refused = await addByForm(ann, fields);
    t.is(refused.status, 422);
    t.is(refused.location, null);
    t.false(refused.text.includes(id));
  });

  test(`${kind}: nobody can have more devices than the limit`, async (t) => {
    const server = await openServer(t, kind, { MAX_DEVICES_PER_USER: '1' });
    const ann = await visit(server, ANN);
    await addOwn(server, ann);
    const again = await addByForm(ann);
    t.is(again.status, 422);
    t.regex(again.text, /Maximum device limit reached\. Remove an existing device/);
    const list = await ann.get('/user_devices');
    t.regex(list.text, /Maximum device limit reached/);
    t.false(list.text.includes('/user_devices/new'));
  });

  test(`${kind}: a device is renamed and changed, and a setting that is emptied follows the default`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const device = await addOwn(server, ann, { name: 'old', mtu: '1400' });
    const path = `/user_devices/${device.id}/edit`;
    const form = await ann.get(path);
    t.regex(form.text, /value="1400" id="field-mtu"[^>]* placeholder="1280 · the client default"/);
    t.is((await ann.post(path, { name: 'new' })).location, path.slice(0, -5));
    await device.reload();
    t.deepEqual([device.name, device.use_default_mtu, device.mtu], ['new', true, 1400]);
    const refused = await ann.post(path, { name: '' });
    t.is(refused.status, 422);
    t.regex(refused.text, /Please fill this in/);
    const sent = { name: 'new', user_id: newKey(), ipv4: '100.64.9.9' };
    const before = device.ipv4;
    await ann.post(path, { ...sent, public_key: newKey(), preshared_key: newKey() });
    await device.reload();
    t.is(device.ipv4, before, 'addresses and keys are nothing that this form takes');
  });

  test(`${kind}: what an administrator changed meanwhile is not overwritten unseen`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const { id } = await addOwn(server, ann, { name: 'laptop' });
    const path = `/user_devices/${id}/edit`;
    const seenIn = (text: string) => /name="seen" value="([^"]+)"/.exec(text)?.[1] ?? 'none';
    const change = (device: object) =>
      server.send('PATCH', `/v0/devices/${id}`, { body: { device } });
    const sent = { name: 'laptop', description: 'in the bag' };
    const seen = seenIn((await ann.get(path)).text);
    await change({ name: 'laptop-7', use_default_mtu: false, mtu: 1_300 });
    const refused = await ann.post(path, { ...sent, seen });
    t.is(refused.status, 422);
    t.regex(refused.text, /Somebody changed this after you had opened it/);
    t.regex(refused.text, /id="field-name-error">is “laptop-7” now/);
    t.regex(refused.text, /id="field-mtu-error">is “1300” now/);
    const present = async () => (await server.send('GET', `/v0/devices/${id}`)).body.data;
    t.like(await present(), { name: 'laptop-7', mtu: 1_300, description: null });

    // What people cannot see in their form is nothing that they could overwrite.
    const again = seenIn(refused.text);
    await change({ limit_down: 1_000_000 });
    t.is((await ann.post(path, { ...sent, seen: again })).status, 303);
    t.like(await present(), { name: 'laptop', description: 'in the bag', limit_down: 1_000_000 });
  });

  test(`${kind}: a device is removed after a confirmation`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const device = await addOwn(server, ann, { name: 'lost' });
    const { text } = await ann.get(`/user_devices/${device.id}`);
    t.true(text.includes(`action="/user_devices/${device.id}/delete"`));
    t.regex(text, /Remove lost\?/);
    const answer = await ann.post(`/user_devices/${device.id}/delete`);
    t.is(answer.location, '/user_devices');
    t.is(await server.database.models.Device.count(), 0);
    t.is((await ann.get(`/user_devices/${device.id}`)).status, 404);
  });

  test(`${kind}: what an administrator switched off or let end, its owner does not add anew`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const { id, public_key } = await addOwn(server, ann, { name: 'laptop' });
    const here = `/user_devices/${id}`;
    const set = async (device: object) => {
      const answer = await server.send('PATCH', `/v0/devices/${id}`, { body: { device } });
      t.is(answer.status, 200, answer.text);
    };
    const kept = () => server.database.models.Device.findByPk(id, { rejectOnEmpty: true });
    const held = /An administrator switched the device off, or set the time at which it ended/;
    const past = '2020-01-02T03:04:00Z';
    for (const switches of [
      { enabled: false, ends_at: null },
      { enabled: true, ends_at: past },
    ]) {
      await set(switches);
      t.false((await ann.get(here)).text.includes(`action="${here}/delete"`));
      t.is((await ann.post(`${here}/delete`)).location, here);
      t.regex((await ann.get(here)).text, held);
      // A key that is free again could be added anew.
      const answer = await ann.post(`${here}/key`, { public_key: newKey() });
      t.is(answer.status, 422);
      t.regex(answer.text, held);
      t.is((await kept()).public_key, public_key);
      t.is((await addByForm(ann, { public_key })).status, 422);
      t.is((await ann.post(`${here}/edit`, { name: 'old' })).status, 303);
    }
    // Its owner does not take it over by switching it off.
    await ann.post(`${here}/switch_off`);
    t.is((await kept()).disabled_by, 'owner');
    t.is((await ann.post(`${here}/delete`)).location, here);
    await set({ ends_at: null });
    t.is((await ann.post(`${here}/delete`)).location, '/user_devices');
    t.is(await server.database.models.Device.count(), 0);
  });

  test(`${kind}: the device of another user is not found, not even by an administrator`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const { id } = await addOwn(server, ann, { name: 'hers' });
    for (const stranger of [
      await visit(server, BOB),
      await visit(server, 'c@x.example', 'admin'),
    ]) {
      const before = await server.database.models.Device.findByPk(id, { rejectOnEmpty: true });
      t.false((await stranger.get('/user_devices')).text.includes('hers'));
      for (const path of ['', '/edit', '/file', '/file/download', '/live'])
        t.is((await stranger.get(`/user_devices/${id}${path}`)).status, 404, path);
      for (const path of ['/edit', '/delete', '/file', '/key']) {
        const fields = { name: 'mine', public_key: newKey(), hash: 'ab'.repeat(32) };
        const answer = await stranger.post(`/user_devices/${id}${path}`, fields);
        t.is(answer.status, 404, path);
      }
      const after = await server.database.models.Device.findByPk(id, { rejectOnEmpty: true });
      t.deepEqual(after.get(), before.get());
    }
    for (const bad of ['x', `${id}x`, '%00', '..%2f', id.toUpperCase()]) {
      const { status } = await ann.get(`/user_devices/${bad}`);
      t.is(status, bad === id.toUpperCase() ? 200 : 404, bad);
    }
  });

  test(`${kind}: a device that gets another owner before a form is written stays as it is`, async (t) => {
    const server = await openServer(t, kind);
    const { database } = server;
    const [ann] = [await visit(server, ANN), await visit(server, BOB)];
    const where = { email: BOB };
    const { id: user_id } = await database.models.User.findOne({ where, rejectOnEmpty: true });
    for (const [path, fields] of [
      ['edit', { name: 'mine' }],
      ['key', { public_key: newKey() }],
      ['delete', {}],
      ['file', { hash: 'ab'.repeat(32) }],
    ] as const) {
      const device = await addOwn(server, ann, { name: path });
      const [moved, found] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const move = writeTransaction(database, async (transaction) => {
        await device.update({ user_id }, { transaction });
        moved.resolve();
        await found.promise;
      });
      await moved.promise;
      // The page still finds its own device, and waits until it may write.
      const sent = ann.post(`/user_devices/${device.id}/${path}`, fields);
      await setTimeout(500);
      found.resolve();
      await move;
      t.is((await sent).status, path === 'file' ? 303 : 404, path);
      const { name, public_key } = device;
      const after = await database.models.Device.findByPk(device.id, { rejectOnEmpty: true });
      t.like(after, { user_id, name, public_key }, path);
      const files = await readClientFiles(database, [device.id]);
      t.not(files.get(device.id), 'ab'.repeat(32), path);
    }
  });

  test(`${kind}: without the right to manage devices a user can only look at them`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const device = await addOwn(server, ann, { name: 'laptop' });
    await configure(server, { allow_unprivileged_device_management: false });
    const one = `/user_devices/${device.id}`;
    for (const path of ['/user_devices', one, `${one}/file`]) {
      const { status, text } = await ann.get(path);
      t.is(status, 200, path);
      t.false(
        /method="post"(?! action="[^"]*\/(sign_out|switch_off)")/.test(text),
        `${path} has no form but that for a lost device`,
      );
      t.false(text.includes('/edit') || text.includes('/new'), path);
    }
    const before = device.get();
    for (const path of ['/user_devices/new', `${one}/edit`])
      t.is((await ann.get(path)).status, 403);
    const fields = { name: 'x', public_key: newKey(), hash: 'ab'.repeat(32) };
    for (const path of [
      '/user_devices/new',
      `${one}/edit`,
      `${one}/delete`,
      `${one}/key`,
      `${one}/file`,
    ]) {
      const answer = await ann.post(path, fields);
      t.is(answer.status, 403, path);
      t.regex(answer.text, /administrators add, change and remove devices/);
    }
    t.deepEqual((await device.reload()).get(), before);
    t.is(await server.database.models.Device.count(), 1);
    const admin = await visit(server, 'root@example.com', 'admin');
    await addOwn(server, admin, { name: 'his' });
  });

  test(`${kind}: without the right to configure devices only name, description and key can be set`, async (t) => {
    const server = await openServer(t, kind);
    await configure(server, { allow_unprivileged_device_configuration: false });
    const ann = await visit(server, ANN);
    t.false((await ann.get('/user_devices/new')).text.includes('Network settings'));
    const fields = { name: 'a', endpoint: 'evil.example', mtu: 'x' };
    const device = await addOwn(server, ann, fields);
    await ann.post(`/user_devices/${device.id}/edit`, { ...fields, name: 'b', description: 'c' });
    await device.reload();
    t.deepEqual([device.name, device.description], ['b', 'c']);
    t.deepEqual([device.use_default_endpoint, device.endpoint, device.mtu], [true, null, null]);
    const admin = await visit(server, 'root@example.com', 'admin');
    const his = await addOwn(server, admin, { endpoint: 'x.example' });
    t.is(his.endpoint, 'x.example', 'administrators are not bound');
  });

  test(`${kind}: names, descriptions and e-mails are shown as text on every page`, async (t) => {
    const server = await openServer(t, kind);
    const bad = `"><script>alert('1')</script>{{x}}<%= 7*7 %>`;
    const ann = await visit(server, `"<script>alert(1)</script>"@example.com`);
    const device = await addOwn(server, ann, { name: bad, description: bad });
    const one = `/user_devices/${device.id}`;
    for (const path of ['/user_devices', one, `${one}/edit`, `${one}/file`, '/sign_in_again']) {
      const { status, text } = await ann.get(path);
      t.is(status, 200, path);
      t.false(text.includes('<script>alert'), path);
      t.true(text.includes('&lt;script&gt;alert'), path);
    }
    const refused = await addByForm(ann, { name: bad, description: bad, public_key: bad });
    t.is(refused.status, 422);
    t.false(refused.text.includes('<script>alert'));
    await ann.post(`${one}/delete`);
    t.false((await ann.get('/user_devices')).text.includes('<script>alert'), 'the message neither');
  });

  test(`${kind}: every form has the token, and visitors without a session are sent to sign in`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const { id } = await addOwn(server, ann, { name: 'kept' });
    const one = `/user_devices/${id}`;
    const fields = { name: 'x', public_key: newKey() };
    for (const path of [
      '/user_devices/new',
      `${one}/edit`,
      `${one}/delete`,
      `${one}/key`,
      `${one}/file`,
    ]) {
      t.is((await ann.send('POST', path, fields)).status, 403, path);
      t.is((await ann.send('POST', path, { ...fields, csrf_token: 'x' })).status, 403, path);
      const stranger = new Visitor(server);
      await stranger.get('/');
      t.is((await stranger.post(path, fields)).location, '/', path);
    }
    for (const path of ['/user_devices', '/user_devices/new', one, `${one}/live`])
      t.regex((await new Visitor(server).get(path)).location ?? '', /^\/\?return_to=/);
    const device = await server.database.models.Device.findOne({ rejectOnEmpty: true });
    t.is(device.name, 'kept');
  });

  test(`${kind}: the page shows when the VPN session ends, and how to renew it`, async (t) => {
    const server = await openServer(t, kind);
    const ann = await visit(server, ANN);
    const { id } = await addOwn(server, ann);
    t.false((await ann.get('/user_devices')).text.includes('VPN session'));
    await configure(server, { vpn_session_duration: 3600 });
    const path = `/user_devices/${id}`;
    const renewal = `href="/sign_in_again?return_to=${encodeURIComponent(path)}"`;
    const running = await ann.get(path);
    t.regex(running.text, /Your VPN session ends <time datetime="20/);
    t.regex((await ann.get(`${path}/file`)).text, /switch the VPN off, sign in/);
    t.true(running.text.includes(renewal));
    const past = new Date(Date.now() - 3_700_000);
    await server.database.sequelize.query(
      'UPDATE users SET last_signed_in_at = ? WHERE email = ?',
      {
        replacements: [past, ANN],
      },
    );
    const ended = await ann.get(path);
    t.regex(ended.text, /switch the VPN off, sign in, and switch the VPN on again/);
    t.regex(ended.text, /has ended .*pass no packet until you sign in again/);
    t.true(ended.text.includes(renewal));
  });
}
