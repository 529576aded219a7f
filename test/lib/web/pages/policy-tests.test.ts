// Policy tests in the console: validated as the API does, those that fail first, and a rule that
// they hold up is saved when somebody insists.

import test from 'ava';
import { readAuditEntries } from '../../../../models/index.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { addDevice } from '../../../support/database/records.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';

const TESTS = '/rules/policy_tests';
const wiki = {
  name: 'Alice reaches the wiki',
  user_id: 'user@example.com',
  device_id: '',
  destination: '10.0.0.5',
  protocol: 'tcp',
  port: '443',
  expect: 'accept',
};

for (const kind of firstKind()) {
  test(`${kind}: only administrators see and change policy tests`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, database } = console;
    const form = (await admin.get(`${TESTS}/new`)).text;
    t.regex(form, /name="user_id"[^>]* data-combobox="\/users\/groups\/people"/);
    t.is((await admin.post(`${TESTS}/new`, wiki)).location, TESTS);
    const { id } = await database.models.PolicyTest.findOne({ rejectOnEmpty: true });
    await checkGuard(t, console, {
      pages: [TESTS, `${TESTS}/new`, `${TESTS}/${id}`],
      forms: [`${TESTS}/new`, `${TESTS}/${id}`, `${TESTS}/${id}/delete`],
    });
    t.is(await database.models.PolicyTest.count(), 1);
    for (const path of [`${TESTS}/x`, `${TESTS}/00000000-0000-0000-0000-000000000000`]) {
      t.is((await admin.get(path)).status, 404, path);
      t.is((await admin.post(path)).status, 404, path);
      t.is((await admin.post(`${path}/delete`)).status, 404, path);
    }
  });

  test(`${kind}: a test is added, changed to a device, and deleted`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const device = await addDevice(database, plainUser.id, { name: 'laptop', ipv4: '100.64.9.9' });
    t.true((await admin.get(TESTS)).text.includes('No policy tests yet'));
    await admin.get(`${TESTS}/new`);
    await admin.post(`${TESTS}/new`, { ...wiki, user_id: 'USER@example.com' });
    const list = (await admin.get(TESTS)).text;
    for (const words of ['The policy test is saved, and passes.', wiki.name, 'TCP 443', 'Passes'])
      t.true(list.includes(words), words);
    const row = await database.models.PolicyTest.findOne({ rejectOnEmpty: true });
    t.like(row.get(), { user_id: plainUser.id, device_id: null, port: 443 });
    const { text } = await admin.get(`${TESTS}/${row.id}`);
    for (const value of [wiki.name, 'user@example.com', '10.0.0.5', '443'])
      t.true(text.includes(`value="${value}"`), value);
    const ping = { protocol: 'icmp', port: '', expect: 'drop' };
    for (const device_id of ['laptop', '100.64.9.9', device.id]) {
      const fields = { ...wiki, ...ping, user_id: '', device_id };
      t.is((await admin.post(`${TESTS}/${row.id}`, fields)).location, TESTS, device_id);
    }
    t.like((await row.reload()).get(), { user_id: null, device_id: device.id, port: null });
    t.true((await admin.get(TESTS)).text.includes('The policy test is saved, and fails.'));
    t.true((await admin.get(`${TESTS}/${row.id}`)).text.includes('value="100.64.9.9"'));
    t.is((await admin.post(`${TESTS}/${row.id}/delete`)).location, TESTS);
    t.is(await database.models.PolicyTest.count(), 0);
  });

  test(`${kind}: what is wrong is said at its field, and what was typed stays`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    await admin.get(`${TESTS}/new`);
    const refused = async (fields: object, words: string): Promise<void> => {
      const { status, text } = await admin.post(`${TESTS}/new`, { ...wiki, ...fields });
      t.is(status, 422, words);
      t.true(text.includes(words), words);
      t.true(text.includes(`value="${wiki.name}"`), words);
    };
    await refused({ user_id: 'x@y.example' }, 'No user has the e-mail “x@y.example”');
    await refused({ user_id: '', device_id: 'phone' }, 'No device is called “phone”');
    await refused({ user_id: '', device_id: '192.0.2.1' }, 'No device has the address 192.0.2.1');
    await refused({ destination: '10.0.0.0/8' }, 'id="field-destination-error"');
    await refused({ user_id: '' }, 'id="field-user_id-error"');
    await refused({ port: '' }, 'id="field-port-error"');
    t.is(await database.models.PolicyTest.count(), 0);
  });

  test(`${kind}: a rule that tests hold up is saved when somebody insists`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    await admin.get(`${TESTS}/new`);
    await admin.post(`${TESTS}/new`, wiki);
    await admin.post(`${TESTS}/new`, { ...wiki, name: 'It passes', expect: 'drop' });
    const rule = { action: 'drop', destination: '10.0.0.0/8', enabled: 'true' };
    const held = await admin.post('/rules/new', rule);
    t.is(held.status, 422);
    t.true(held.text.includes('would fail: it expects accept, but this rule would drop'));
    t.true(held.text.includes('Save it anyway'));
    t.is(await database.models.Rule.count(), 0);
    t.false((await admin.get('/rules/new')).text.includes('Save it anyway'));
    t.is((await admin.post('/rules/new', { ...rule, do: 'force' })).location, '/rules');
    const [entry] = await readAuditEntries(database, { limit: 1, action: 'fail' });
    t.like(entry, { kind: 'policy_test', email: 'boss@example.com' });
    const { text } = await admin.get(TESTS);
    t.true(text.includes('One policy test fails.'));
    t.true(text.indexOf(wiki.name) < text.indexOf('It passes'), 'those that fail come first');
    const { id } = await database.models.Rule.findOne({ rejectOnEmpty: true });
    const back = await admin.post(`/rules/${id}`, {
      action: 'accept',
      destination: '10.0.0.0/8',
      enabled: 'true',
    });
    t.is(back.status, 422);
    const forced = { action: 'accept', destination: '10.0.0.0/8', enabled: 'true', do: 'force' };
    t.is((await admin.post(`/rules/${id}`, forced)).location, '/rules');
  });

  test(`${kind}: a member whom tests hold up is added when somebody insists`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    await admin.get(`${TESTS}/new`);
    await admin.post(`${TESTS}/new`, wiki);
    await admin.post('/users/groups/new', { name: 'ops', description: '' });
    const { id } = await database.models.Group.findOne({ rejectOnEmpty: true });
    const rule = { action: 'drop', destination: '10.0.0.0/8', whose: 'group ops', enabled: 'true' };
    await admin.post('/rules/new', rule);
    const here = `/users/groups/${id}`;
    const held = await admin.post(`${here}/members`, { add: wiki.user_id });
    t.is(held.status, 422, held.text);
    t.true(held.text.includes('would fail: it expects accept, but rule '));
    t.true(held.text.includes('Add them anyway'));
    t.is(await database.models.GroupMembership.count(), 0);
    t.false((await admin.get(here)).text.includes('Add them anyway'));
    const forced = await admin.post(`${here}/members`, { add: wiki.user_id, do: 'force' });
    t.is(forced.location, here);
    t.true((await admin.get(TESTS)).text.includes('One policy test fails.'));
  });

  test(`${kind}: names are text, in the list, the form and the message about a rule`, async (t) => {
    const { admin } = await openConsole(t, kind);
    await admin.get(`${TESTS}/new`);
    await admin.post(`${TESTS}/new`, { ...wiki, name: NASTY });
    checkText(t, await admin.get(TESTS), 'list');
    const held = await admin.post('/rules/new', {
      action: 'drop',
      destination: '10.0.0.0/8',
      enabled: 'true',
    });
    checkText(t, held, 'rule');
    t.true(
      held.text.includes('policy test &quot;&quot;&gt;&lt;img') || held.text.includes('&lt;img'),
    );
  });
}
