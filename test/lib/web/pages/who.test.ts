// The page “Who may reach it?”: who may ask, what is shown of people, devices and rules, and that
// the search for everything leads there.

import test from 'ava';
import type { Database } from '../../../../models/index.ts';
import { addRule, write } from '../../../models/fixtures.ts';
import { databaseKinds } from '../../../support/database/databases.ts';
import { addDevice, addUser } from '../../../support/database/records.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';

/** The path of a question. */
function ask(query: Record<string, string>): string {
  return `/explain/who?${new URLSearchParams(query).toString()}`;
}

/** How many rules each statement names by their ids, from now on. */
function watchNamedRules(database: Database): number[] {
  const counts: number[] = [];
  const { sequelize } = database;
  const query = sequelize.query.bind(sequelize) as (...args: unknown[]) => unknown;
  const watching = (text: unknown, options?: { replacements?: { ids?: readonly string[] } }) => {
    if (String(text).includes('FROM rules') && options?.replacements?.ids !== undefined)
      counts.push(options.replacements.ids.length);
    return query(text, options);
  };
  sequelize.query = watching as typeof sequelize.query;
  return counts;
}

for (const kind of databaseKinds()) {
  test(`${kind}: people are shown with the rule that decides, the others in a count with a link`, async (t) => {
    const console = await openConsole(t, kind);
    const { admin, database, plainUser } = console;
    await checkGuard(t, console, { pages: ['/explain/who', ask({ destination: '10.2.0.5' })] });
    await write(database, (transaction) =>
      database.models.User.update({ name: NASTY }, { where: { id: plainUser.id }, transaction }),
    );
    const laptop = await addDevice(database, plainUser.id, { name: NASTY, ipv4: '100.64.9.9' });
    const off = { name: 'lost', ipv4: '100.64.9.10', disabled_at: new Date() };
    await addDevice(database, plainUser.id, off);
    const other = await addUser(database, { email: 'other@example.com' });
    await addDevice(database, other.id, { name: 'phone', ipv4: '100.64.9.11' });
    const drop = await addRule(database, { action: 'drop', destination: '10.0.0.0/8' });
    const accept = await addRule(database, {
      action: 'accept',
      destination: '10.2.0.0/16',
      port_type: 'tcp',
      port_start: 443,
      port_end: 443,
      user_id: plainUser.id,
    });
    const { text } = await admin.get(ask({ destination: '10.2.0.5' }));
    checkText(t, { text }, 'people who may');
    t.true(text.includes('1 person may reach 10.2.0.5'), text);
    t.regex(text, /TCP 443 <small>by <a href="\/rules\/[^"]+">Accept 10\.2\.0\.0\/16 TCP 443<\/a>/);
    for (const href of [`/users/${plainUser.id}`, `/devices/${laptop.id}`, `/rules/${accept.id}`])
      t.true(text.includes(`href="${href}"`), href);
    t.true(text.includes('not with one other device'));
    t.false(text.includes('other@example.com'));
    const others = /<a href="([^"]+others=true)">\d+ may not</.exec(text)?.[1] ?? text;
    const refused = await admin.get(others.replaceAll('&amp;', '&'));
    checkText(t, refused, 'people who may not');
    t.true(refused.text.includes('Who may not reach 10.2.0.5'));
    t.regex(
      refused.text,
      new RegExp(`other@example\\.com.*\\n.*Dropped by <a href="/rules/${drop.id}"`),
    );
    t.regex(refused.text, /boss@example\.com.*\n.*Has no device/);
    const udp = await admin.get(ask({ destination: '10.2.0.5', protocol: 'udp', port: '53' }));
    t.true(udp.text.includes('Nobody may reach it'));
    t.true(udp.text.includes('0 people may reach 10.2.0.5, UDP 53'));
  });

  test(`${kind}: a device is named by its name; what is wrong is at its field`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const phone = await addDevice(database, plainUser.id, { name: 'phone', ipv4: '100.64.9.9' });
    const { text } = await admin.get(ask({ destination: 'phone' }));
    t.true(text.includes(`leads to the device <a href="/devices/${phone.id}">`));
    t.true(text.includes('Everything <small>by the default action'));
    const free = await admin.get(ask({ destination: '100.64.9.200' }));
    t.true(free.text.includes('0 people may reach'));
    for (const query of [
      { destination: 'nothing' },
      { destination: '10.0.0.5', protocol: 'tcp', port: '70000' },
      { destination: '10.0.0.5', protocol: 'icmp', port: '7' },
      { destination: '10.0.0.5', port: '7' },
      { destination: '10.0.0.5', protocol: NASTY },
    ]) {
      const answer = await admin.get(ask(query));
      t.is(answer.status, 422, JSON.stringify(query));
      t.true(answer.text.includes('Please correct what is marked below.'));
      checkText(t, answer, JSON.stringify(query));
    }
  });

  test(`${kind}: fifty people are on a page, and the search leads to the question`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const accept = { action: 'accept', destination: '10.0.0.0/8' } as const;
    for (let i = 0; i < 51; i += 1) {
      const { id } = await addUser(database, { email: `p${String(i).padStart(2, '0')}@x.example` });
      await addDevice(database, id, { name: 'laptop' });
      await addRule(database, { ...accept, user_id: id });
    }
    const namedRules = watchNamedRules(database);
    const first = await admin.get(ask({ destination: '10.0.0.5' }));
    t.deepEqual(namedRules.splice(0), [50]);
    t.is(first.text.match(/href="\/rules\/[^"]+">Accept/g)?.length, 50);
    t.is(first.text.match(/@x\.example<\/a>/g)?.length, 50);
    t.true(Buffer.byteLength(first.text) < 60_000, `${Buffer.byteLength(first.text)} bytes`);
    const next = /rel="next" href="([^"]+)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const second = await admin.get(next);
    t.deepEqual(namedRules, [1]);
    t.is(second.text.match(/@x\.example<\/a>/g)?.length, 1);
    const found = await admin.get('/search?q=10.2.0.5');
    t.true(
      found.text.includes('<a href="/explain/who?destination=10.2.0.5">Who may reach 10.2.0.5?'),
    );
    t.false((await admin.get('/search?q=10.2.0')).text.includes('/explain/who?destination'));
  });
}
