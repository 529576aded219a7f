// The search for everything: who may ask, what is found of each kind, and what is never found.

import test from 'ava';
import { writeTransaction } from '../../../../models/index.ts';
import { addDevice, addUser, write } from '../../../models/fixtures.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';

for (const kind of databaseKinds()) {
  test(`${kind}: five of each kind are found, with a link to the rest, by administrators alone`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, database, log } = console;
    await checkGuard(t, console, { pages: ['/search', '/search?q=ann'] });
    for (let i = 0; i < 6; i += 1) await addUser(database, { email: `zebra${i}@example.com` });
    const owner = await addUser(database, { email: 'ann@example.com' });
    const device = await addDevice(database, owner, { name: 'zebra-phone' });
    const rule = await write(database, (transaction) =>
      database.models.Rule.create(
        { action: 'accept', destination: '10.0.0.0/8', description: 'for the zebra printer' },
        { transaction },
      ),
    );
    const { result: group } = await writeTransaction(database, (transaction) =>
      database.models.Group.create({ name: 'Zebras' }, { transaction }),
    );
    const { text } = await admin.get('/search?q=ZEBRA');
    t.is(text.match(/href="\/users\/[0-9a-f-]{36}"/g)?.length, 5);
    t.true(text.includes('href="/users?q=ZEBRA"'), 'where the sixth is');
    for (const href of [`/devices/${device.id}`, `/rules/${rule.id}`, `/users/groups/${group.id}`])
      t.true(text.includes(`href="${href}"`), href);
    t.false(text.includes('href="/devices?q='), 'nothing more than is shown');
    const settings = (await admin.get('/search?q=keepalive')).text;
    t.true(
      settings.includes('/settings/client_defaults#field-default_client_persistent_keepalive'),
    );
    t.true((await admin.get('/search?q=policy')).text.includes('href="/rules/policy_tests"'));
    t.true((await admin.get('/search?q=backup')).text.includes('href="/gateways#backups"'));
    t.true((await admin.get('/search?q=qqqq')).text.includes('Nothing is found'));
    t.false(JSON.stringify(log).toLowerCase().includes('zebra'), 'the text is not logged');
  });

  test(`${kind}: keys, tokens and the audit trail are not found`, async (t) => {
    const { admin, database, adminUser } = await openConsole(t, kind);
    const public_key = `zebra${'A'.repeat(38)}=`;
    const device = await addDevice(database, adminUser, { name: 'laptop', public_key });
    await writeTransaction(database, (transaction) =>
      database.models.ApiToken.create(
        { user_id: adminUser.id, name: 'zebra', sha256: 'a'.repeat(64) },
        { transaction },
      ),
    );
    const { text } = await admin.get('/search?q=zebra');
    t.true(text.includes('Nothing is found'));
    t.true((await admin.get('/devices?q=zebra')).text.includes(`/devices/${device.id}`));
  });
}

test('what is typed is text, and short', async (t) => {
  const { admin } = await openConsole(t, 'sqlite');
  checkText(t, await admin.get(`/search?q=${encodeURIComponent(NASTY)}`), 'search');
  const { status, text } = await admin.get(`/search?q=${'x'.repeat(5_000)}`);
  t.is(status, 200);
  t.false(text.includes('x'.repeat(101)));
  t.is((await admin.get('/search?q=a&q=b')).status, 200);
  t.is((await admin.get('/search?q=%00')).status, 200);
});
