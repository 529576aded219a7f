// Rules in the console: validated as the API does, shown with their hits and with what they meet.

import test from 'ava';
import { writeTransaction } from '../../../../models/index.ts';
import { addRule } from '../../../models/fixtures.ts';
import { checkGuard, checkText, NASTY, openConsole } from '../../../support/web/console.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { fakeObserved } from '../../../support/observe/fake-gateway.ts';

/** What a page says of fields: the name of each, and the error. */
function errorsOf(text: string): string[][] {
  const found = text.matchAll(/id="field-(\w+)-error">([^<]*)</g);
  return Array.from(found, ([, name = '', error = '']) => [name, error]);
}

for (const kind of firstKind()) {
  test(`${kind}: only administrators see and change rules`, async (t) => {
    const console = await openConsole(t, kind);
    const { id } = await addRule(console.database, { destination: '10.0.0.0/8' });
    await checkGuard(t, console, {
      pages: ['/rules', '/rules/new', `/rules/${id}`],
      forms: ['/rules/new', `/rules/${id}`, `/rules/${id}/delete`],
    });
    t.is(await console.database.models.Rule.count(), 1);
    for (const path of ['/rules/x', '/rules/00000000-0000-0000-0000-000000000000']) {
      t.is((await console.admin.get(path)).status, 404, path);
      t.is((await console.admin.post(path)).status, 404, path);
      t.is((await console.admin.post(`${path}/delete`)).status, 404, path);
    }
  });

  test(`${kind}: what a destination with the bits of a host means is said`, async (t) => {
    const { admin } = await openConsole(t, kind);
    await admin.get('/rules/new');
    const fields = { action: 'accept', destination: '192.168.50.20/24', port_type: '' };
    const words = '192.168.50.20/24 means 192.168.50.0/24; leave /24 out for one host.';
    const checked = await admin.post('/rules/new', { ...fields, do: 'check' });
    t.true(checked.text.includes(words), 'What would it meet?');
    await admin.post('/rules/new', fields);
    const list = await admin.get('/rules');
    t.true(list.text.includes(words), 'after it is made');
    t.true((await admin.get('/rules')).text.includes('It means 192.168.50.0/24.'), 'in the list');
  });

  test(`${kind}: headings say whose rules decide first, and the last line what decides else`, async (t) => {
    const { admin, database, plainUser, adminUser } = await openConsole(t, kind);
    await admin.get('/users/groups/new');
    await admin.post('/users/groups/new', { name: 'ops' });
    const { id: group_id } = await database.models.Group.findOne({ rejectOnEmpty: true });
    const shown = async (query = '') => {
      const { text } = await admin.get(`/rules${query}`);
      const rows = text.match(/<tbody[^]*<\/tbody>/)?.[0] ?? '';
      return [
        ...rows.matchAll(/class="part[^>]*>\s*<t[hd][^>]*>(?:<strong>)?([^<]*)|>([\d./]+)<\/a>/g),
      ].map(([, heading, destination]) => heading ?? destination);
    };
    t.deepEqual(await shown(), [], 'an empty list says it in its own words');
    await addRule(database, { destination: '10.0.0.0/8' });
    await addRule(database, { destination: '10.1.0.0/16', group_id });
    await addRule(database, { destination: '10.2.0.0/16', user_id: plainUser.id });
    await addRule(database, { destination: '10.3.0.0/16', user_id: adminUser.id });
    const [one, group, everyone, last] = [
      'Of one user: asked first',
      'Of groups: asked where no rule of the user decides',
      'For everyone: asked last',
      'Everything else.',
    ];
    const all = await shown();
    for (const own of ['10.2.0.0/16', '10.3.0.0/16']) t.true(all.slice(1, 3).includes(own), own);
    t.deepEqual(
      [all[0], ...all.slice(3)],
      [one, group, '10.1.0.0/16', everyone, '10.0.0.0/8', last],
    );
    t.deepEqual(await shown('?state=everyone'), [everyone, '10.0.0.0/8', last]);
    const sorted = ['10.0.0.0/8', '10.1.0.0/16', '10.2.0.0/16', '10.3.0.0/16', last];
    t.deepEqual(await shown('?sort=destination'), sorted);
    for (let i = 0; i < 47; i += 1) await addRule(database, { destination: `9.0.0.${i}/32` });
    t.false((await shown()).includes(last), 'other rules follow on the next page');
    t.deepEqual((await shown('?page=2')).at(0), everyone);
    t.is((await shown('?page=2')).at(-1), last);
  });

  test(`${kind}: the form is a sentence, with words between its fields`, async (t) => {
    const { admin } = await openConsole(t, kind);
    const { text } = await admin.get('/rules/new');
    const line = text.match(/<div class="beside">[^]*?<details/)?.[0] ?? '';
    const words = line.matchAll(/ name="(\w+)"|class="joint">(\w+)</g);
    t.is(
      Array.from(words, ([, field, joint]) => joint ?? `(${field})`).join(' '),
      '(action) (port_type) (port_range) to (destination) for (whose)',
    );
    t.regex(line, /<label for="field-whose">Who<\/label>/);
  });

  test(`${kind}: the list says ports on a phone too, and copies a rule`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const packets = { action: 'accept', port_type: 'tcp', port_start: 443, port_end: 443 } as const;
    const { id } = await addRule(database, { destination: '10.0.0.5', ...packets });
    await addRule(database, { destination: '10.1.0.0/16' });
    const { text } = await admin.get(`/rules?menu=${id}`);
    t.regex(text, /Accept <span class=when-narrow>TCP 443<\/span>/);
    t.is(text.match(/class=when-narrow/g)?.length, 1, 'all traffic needs no word');
    t.true(text.includes(`href="/rules/new?copy=${id}"`));
    t.true((await admin.get(`/rules/new?copy=${id}`)).text.includes('value="10.0.0.5"'));
  });

  test(`${kind}: a rule is added for a user by e-mail, changed for everyone, deleted`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    await admin.get('/rules/new');
    const typed = { action: 'accept', destination: ' 10.1.0.0/16 ', port_type: 'tcp' };
    const fields = { ...typed, port_range: '80-90', whose: 'USER@example.com' };
    t.is((await admin.post('/rules/new', fields)).location, '/rules');
    const rule = await database.models.Rule.findOne({ rejectOnEmpty: true });
    t.like(rule.get(), { user_id: plainUser.id, port_start: 80, port_end: 90 });
    const { text } = await admin.get(`/rules/${rule.id}`);
    for (const value of ['10.1.0.0/16', '80 - 90', 'user@example.com'])
      t.true(text.includes(`value="${value}"`), value);
    await admin.post(`/rules/${rule.id}`, { ...typed, port_type: '', port_range: '' });
    t.like((await rule.reload()).get(), { user_id: null, port_type: null, port_start: null });
    t.is((await admin.post(`/rules/${rule.id}/delete`)).location, '/rules');
    t.is(await database.models.Rule.count(), 0);
  });

  test(`${kind}: an overlap is refused with links to what is in its way, a check changes nothing`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const rival = await addRule(database, { action: 'accept', destination: '10.0.0.0/8' });
    const other = await addRule(database, { action: 'drop', destination: '10.1.0.0/16' });
    await admin.get('/rules/new');
    const typed = { action: 'accept', destination: '10.1.2.3', enabled: 'true' };
    const checked = await admin.post('/rules/new', { ...typed, do: 'check' });
    t.is(checked.status, 200);
    t.regex(
      checked.text,
      new RegExp(`Overlaps with[^]*/rules/${rival.id}[^]*Other rules for the same packets`),
    );
    t.regex(checked.text, new RegExp(`Other rules for the same packets[^]*/rules/${other.id}`));
    const refused = await admin.post('/rules/new', typed);
    t.is(refused.status, 422);
    const error = /<p class="error" id="field-destination-error">(.*)<\/p>/.exec(refused.text)?.[1];
    t.is(
      error,
      'Another rule already means some of these packets: ' +
        `<a href="/rules/${rival.id}">Accept 10.0.0.0/8</a>`,
    );
    t.true(refused.text.includes('value="10.1.2.3"'));
    t.is(await database.models.Rule.count(), 2);
    const free = await admin.post('/rules/new', { ...typed, destination: 'fd00::1', do: 'check' });
    t.true(free.text.includes('No other rule matches any packet'));
    const own = await admin.get(`/rules/${rival.id}`);
    t.false(own.text.includes('Overlaps with'), 'a rule never overlaps itself');
  });

  test(`${kind}: errors stand at their fields, and what was typed stays text`, async (t) => {
    const { admin } = await openConsole(t, kind);
    await admin.get('/rules/new');
    const answer = await admin.post('/rules/new', {
      action: NASTY,
      destination: NASTY,
      port_type: 'tcp',
      port_range: NASTY,
      whose: NASTY,
    });
    t.is(answer.status, 422);
    for (const message of [
      'neither an address nor a network',
      'Please write ports as',
      'No user has the e-mail “',
    ])
      t.true(answer.text.includes(message), message);
    checkText(t, answer, 'the form');
    checkText(t, await admin.get(`/rules/new?user=${encodeURIComponent(NASTY)}`), 'the query');
  });

  test(`${kind}: a rule for a group is typed by the name of the group, and shown with it`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const { result: group } = await writeTransaction(database, (transaction) =>
      database.models.Group.create({ name: 'ops' }, { transaction }),
    );
    await admin.get('/rules/new');
    const typed = { action: 'drop', destination: '10.0.0.0/8', enabled: 'true' };
    const unknown = await admin.post('/rules/new', { ...typed, whose: 'opps' });
    t.is(unknown.status, 422);
    t.true(unknown.text.includes('No user has the e-mail “opps”, and no group has this name'));
    await admin.post('/rules/new', { ...typed, whose: 'ops' });
    const [rule] = await database.models.Rule.findAll();
    t.like(rule, { group_id: group.id, user_id: null });
    t.true((await admin.get('/rules')).text.includes('group ops'));
    t.true((await admin.get('/rules?state=one_group')).text.includes('10.0.0.0/8'));
    const page = (await admin.get(`/rules/${rule?.id}`)).text;
    t.regex(page, /value="group ops" id="field-whose"/);
    await admin.post(`/rules/${rule?.id}`, { ...typed, whose: 'group ops', description: 'a' });
    t.like(await rule?.reload(), { group_id: group.id, description: 'a' });
  });

  test(`${kind}: names and ports without a protocol are refused with what to do`, async (t) => {
    const { admin } = await openConsole(t, kind);
    await admin.get('/rules/new');
    const typed = { action: 'accept', destination: '10.0.0.0/8', port_range: '443' };
    const ports = await admin.post('/rules/new', { ...typed, port_type: '' });
    t.is(ports.status, 422);
    t.regex(ports.text, /id="field-port_type-error">Please choose TCP or UDP to use ports/);
    const ping = await admin.post('/rules/new', { ...typed, port_type: 'icmp' });
    t.deepEqual(errorsOf(ping.text), [
      ['port_range', 'ICMP has no ports: please leave “Ports” empty'],
    ]);
    const wrong = await admin.post('/rules/new', { ...typed, port_type: 'icmp', port_range: 'x' });
    t.deepEqual(errorsOf(wrong.text), errorsOf(ping.text));
    t.notRegex(ping.text + wrong.text, /protocol:|must be null/);
    const named = { ...typed, port_type: 'tcp', destination: 'intranet.acme.test' };
    const { text } = await admin.post('/rules/new', { ...named, whose: 'alise@acme.test' });
    t.regex(text, /“intranet\.acme\.test” is neither an address nor a network[^<]*Names are not/);
    t.true(text.includes('No user has the e-mail “alise@acme.test”'));
  });

  test(`${kind}: ICMP is chosen beside TCP and UDP`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    await admin.get('/rules/new');
    const typed = { action: 'accept', destination: 'fd00::/8' };
    const asked = { ...typed, port_range: '', enabled: 'true' };
    await admin.post('/rules/new', { ...asked, port_type: 'icmp' });
    const rule = await database.models.Rule.findOne({ rejectOnEmpty: true });
    t.like(rule.get(), { protocol: 'icmp', port_type: null });
    t.regex((await admin.get('/rules')).text, /fd00::\/8[^]*ICMP/);
    t.regex((await admin.get('/rules.csv')).text, /,icmp,/);
    const { text } = await admin.get(`/rules/${rule.id}`);
    t.regex(text, /<option value="icmp" selected/);
    await admin.post(`/rules/${rule.id}`, { ...asked, port_type: 'udp', port_range: '53' });
    t.like((await rule.reload()).get(), { protocol: null, port_type: 'udp', port_start: 53 });
  });

  test(`${kind}: hits that the data plane counted are shown`, async (t) => {
    const hits = new Map();
    const observed = fakeObserved({ rules: () => hits });
    const { admin, database } = await openConsole(t, kind, {}, { observed });
    const { id } = await addRule(database, { destination: '10.0.0.0/8' });
    hits.set(id, { id, packets: 1_234, bytes: 1_500_000, lastHitMs: Date.UTC(2026, 10, 21) });
    for (const path of ['/rules', `/rules/${id}`]) {
      const { text } = await admin.get(path);
      for (const part of ['1,234', '1.5\u00a0MB', '"2026-11-21T00:00:00'])
        t.true(text.includes(part), `${path}: ${part}`);
    }
    t.regex((await admin.get(`/rules/${id}`)).text, />It decided 1,234 packets/);
    const watched = await addRule(database, { destination: '9.0.0.0/8', enforced: false });
    hits.set(watched.id, { ...hits.get(id), id: watched.id });
    const { text } = await admin.get(`/rules/${watched.id}`);
    t.regex(text, />It would have decided 1,234 packets/);
    t.false(text.includes('Flows on which it decided'));
  });

  test(`${kind}: a rule is switched off and on, and says what it is for`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    t.regex((await admin.get('/rules/new')).text, /name="enabled"[^>]* checked/);
    const typed = { action: 'accept', destination: '10.0.0.0/8', description: NASTY };
    await admin.post('/rules/new', typed);
    const rule = await database.models.Rule.findOne({ rejectOnEmpty: true });
    t.like(rule.get(), { enabled: false, description: NASTY });
    const list = (await admin.get('/rules')).text;
    t.true(list.includes('It is disabled and decides nothing.'));
    t.regex(list, />Accept, disabled</);
    checkText(t, { text: list }, '/rules');
    t.regex((await admin.get('/rules?state=disabled')).text, /10\.0\.0\.0\/8/);
    t.notRegex((await admin.get(`/rules/${rule.id}`)).text, /name="enabled"[^>]* checked/);
    await admin.post(`/rules/${rule.id}`, { ...typed, enabled: 'true' });
    t.true((await rule.reload()).enabled);
    t.notRegex((await admin.get('/rules')).text, />Accept, disabled</);
  });

  test(`${kind}: a rule is staged by its box alone, and is marked then`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    t.notRegex((await admin.get('/rules/new')).text, /name="staged"[^>]* checked/);
    const typed = { action: 'accept', destination: '10.0.0.0/8', enabled: 'true' };
    await admin.post('/rules/new', { ...typed, staged: 'true' });
    const rule = await database.models.Rule.findOne({ rejectOnEmpty: true });
    t.is(rule.enforced, false);
    const list = (await admin.get('/rules?state=staged')).text;
    t.true(list.includes('It is staged: it decides nothing'));
    t.regex(list, />Accept, staged</);
    t.regex((await admin.get(`/rules/${rule.id}`)).text, /name="staged"[^>]* checked/);
    const later = { ...typed, staged: 'true', starts_at: '2999-01-01T08:00' };
    await admin.post(`/rules/${rule.id}`, later);
    const waiting = (await admin.get('/rules')).text;
    t.true(waiting.includes('from its start on it counts what it would decide'));
    t.regex(waiting, />Accept, not yet, staged</);
    await admin.post(`/rules/${rule.id}`, typed);
    t.true((await rule.reload()).enforced);
  });

  test(`${kind}: a rule begins and ends at times that are typed in UTC`, async (t) => {
    const { admin, database } = await openConsole(t, kind);
    const times = { starts_at: '2999-01-01T08:00', ends_at: '2999-01-01T17:30:05' };
    const typed = { action: 'accept', destination: '10.0.0.0/8', enabled: 'true', ...times };
    await admin.post('/rules/new', typed);
    const rule = await database.models.Rule.findOne({ rejectOnEmpty: true });
    t.deepEqual(rule.starts_at, new Date('2999-01-01T08:00:00Z'));
    t.deepEqual(rule.ends_at, new Date('2999-01-01T17:30:05Z'));
    const list = (await admin.get('/rules?state=waiting')).text;
    t.true(list.includes('It decides nothing before its start.'));
    t.regex(list, />Accept, not yet</);
    t.true(list.includes('It starts at 2999-01-01 08:00 UTC. It ends at 2999-01-01 17:30:05 UTC.'));
    const form = (await admin.get(`/rules/${rule.id}`)).text;
    for (const [name, value] of Object.entries(times))
      t.regex(form, new RegExp(`type="datetime-local" value="${value}"[^>]* name="${name}"`));
    const reversed = { ...typed, ends_at: '2999-01-01T07:00' };
    const refused = await admin.post(`/rules/${rule.id}`, reversed);
    t.is(refused.status, 422);
    t.regex(refused.text, /value="2999-01-01T07:00"/);
    t.true(refused.text.includes('The end must be after the start'));
    for (const starts_at of ['x', 'tomorrow', '2026-02-30T10:00', '99999-12-31T23:59']) {
      const unreadable = await admin.post('/rules/new', { ...typed, starts_at });
      t.is(unreadable.status, 422, starts_at);
      t.regex(unreadable.text, /field-starts_at-error/);
    }
    await admin.post(`/rules/${rule.id}`, { ...typed, starts_at: '', ends_at: '2026-01-01T00:00' });
    t.is((await rule.reload()).starts_at, null);
    t.true((await admin.get('/rules')).text.includes('Its end is over, so it decides nothing.'));
    t.regex((await admin.get('/rules?state=over')).text, />Accept, over</);
  });

  test(`${kind}: a rule that can never decide says so, and by which rule`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    await addRule(database, { action: 'accept', destination: '10.0.0.0/8' });
    await addRule(database, { action: 'drop', destination: '10.2.0.0/16', user_id: plainUser.id });
    await admin.get('/rules/new');
    const ports = { port_type: '', port_range: '' };
    const typed = { action: 'drop', destination: '10.1.0.0/16', ...ports, enabled: 'true' };
    const checked = await admin.post('/rules/new', { ...typed, do: 'check' });
    t.regex(checked.text, /Never decides/);
    t.regex(checked.text, /which is asked first and matches[^]*>Accept 10\.0\.0\.0\/8<\/a>/);
    t.is((await admin.post('/rules/new', typed)).status, 303);
    const words = /(?<!title=")It is shadowed by “Accept 10\.0\.0\.0\/8” and never decides\./g;
    const list = (await admin.get('/rules')).text;
    t.is(list.match(words)?.length, 2, 'as message and in the list, for this rule alone');
    const wide = { action: 'accept', destination: '10.2.0.0/15', whose: plainUser.email };
    const above = await admin.post('/rules/new', { ...typed, ...wide, do: 'check' });
    t.regex(above.text, /so they never decide/);
    t.notRegex(above.text, /id="shadow"/);
  });

  for (const [action, words] of [
    ['accept', 'A packet that no rule matches is accepted.'],
    ['drop', 'A packet that no rule matches is dropped.'],
  ] as const)
    test(`${kind}: what happens when no rule matches is said: ${action}`, async (t) => {
      const { admin } = await openConsole(t, kind, { DEFAULT_ACTION: action });
      for (const path of ['/rules', '/rules/new'])
        t.true((await admin.get(path)).text.includes(words), path);
    });
}
