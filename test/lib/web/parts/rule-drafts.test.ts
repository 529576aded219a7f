// What the form of a new rule begins with, where another page led there.

import test from 'ava';
import { addRule, write } from '../../../models/fixtures.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { addDevice } from '../../../support/database/records.ts';
import { checkText, NASTY, openConsole } from '../../../support/web/console.ts';

for (const kind of firstKind()) {
  test(`${kind}: a refused packet fills a rule for its person, a group or everyone`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const device = await addDevice(database, plainUser.id, { name: 'laptop' });
    await write(database, async (transaction) => {
      const group = await database.models.Group.create({ name: NASTY }, { transaction });
      const membership = { group_id: group.id, user_id: plainUser.id };
      await database.models.GroupMembership.create(membership, { transaction });
    });
    const packet = { destination: '10.9.0.5', protocol: 'tcp', port: '22' };
    const query = new URLSearchParams({ device_id: device.id, ...packet });
    const page = await admin.get(`/rules/new?${query.toString()}`);
    for (const value of ['10.9.0.5', '22', 'user@example.com'])
      t.true(page.text.includes(`value="${value}"`), value);
    t.regex(page.text, /<option value="tcp" selected/);
    checkText(t, page, 'the offers');
    query.set('for', `group ${NASTY}`);
    t.true(page.text.includes(`href="/rules/new?${query.toString().replaceAll('&', '&amp;')}"`));
    const forGroup = await admin.get(`/rules/new?${query.toString()}`);
    t.regex(forGroup.text, /value="group [^"]+" id="field-whose"/);
    query.set('for', 'somebody else');
    t.regex(
      (await admin.get(`/rules/new?${query.toString()}`)).text,
      /value="everyone" id="field-w/,
    );
  });

  test(`${kind}: a refused packet offers those alone for whom a rule lets it pass`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const device = await addDevice(database, plainUser.id, { name: 'laptop' });
    await write(database, async (transaction) => {
      const group = await database.models.Group.create({ name: 'staff' }, { transaction });
      const membership = { group_id: group.id, user_id: plainUser.id };
      await database.models.GroupMembership.create(membership, { transaction });
    });
    const offersFor = async (packet: Record<string, string>): Promise<string[]> => {
      const query = new URLSearchParams({ device_id: device.id, ...packet });
      const { text } = await admin.get(`/rules/new?${query.toString()}`);
      return [...text.matchAll(/<a class="chip [^>]*>([^<]+)</g)].map(([, who = '']) => who);
    };
    const ssh = { destination: '10.9.0.5', protocol: 'tcp', port: '22' };
    const ping = { destination: '10.9.0.5', protocol: 'icmp' };
    const all = ['user@example.com', 'group staff', 'everyone'];
    t.deepEqual(await offersFor(ssh), all, 'nothing but the default action refuses it');
    await addRule(database, { action: 'drop', destination: '10.9.0.0/16' });
    t.deepEqual(await offersFor(ssh), all, 'a rule with a port is asked before that of everyone');
    await addRule(database, {
      action: 'drop',
      destination: '10.9.0.0/16',
      user_id: plainUser.id,
    });
    t.deepEqual(await offersFor(ssh), ['user@example.com'], 'their own drop is asked first');
    t.deepEqual(await offersFor(ping), ['user@example.com']);
    t.deepEqual(await offersFor({ ...ssh, destination: '10.8.0.5' }), all);
    for (const unclear of [
      { port: '0' },
      { port: '99999' },
      { destination: 'x' },
      { protocol: '47' },
    ])
      t.deepEqual(await offersFor({ ...ssh, ...unclear }), all, JSON.stringify(unclear));
  });

  test(`${kind}: a rule is copied into the form of a new one`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const { id } = await addRule(database, {
      action: 'drop',
      destination: '10.0.0.0/8',
      protocol: 'icmp',
      user_id: plainUser.id,
    });
    t.true((await admin.get(`/rules/${id}`)).text.includes(`href="/rules/new?copy=${id}"`));
    const { text } = await admin.get(`/rules/new?copy=${id}`);
    t.regex(text, /<option value="drop" selected/);
    t.regex(text, /<option value="icmp" selected/);
    for (const value of ['10.0.0.0/8', 'user@example.com'])
      t.true(text.includes(`value="${value}"`), value);
    t.true(text.includes('Add the rule'));
    t.is((await admin.get('/rules/new?copy=00000000-0000-0000-0000-000000000000')).status, 404);
  });
}
