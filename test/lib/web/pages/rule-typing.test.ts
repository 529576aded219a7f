// What scripts ask while a rule is typed, and how often a dry run may be asked for.

import test from 'ava';
import { addRule, write } from '../../../models/fixtures.ts';
import { firstKind } from '../../../support/database/databases.ts';
import { checkGuard, NASTY, openConsole } from '../../../support/web/console.ts';

interface Met {
  readonly meaning: string | null;
  readonly meetings: readonly { id: string; rules: { href: string; text: string }[] }[];
}

for (const kind of firstKind()) {
  test(`${kind}: only administrators are answered`, async (t) => {
    const pages = ['/rules/whose?q=a', '/rules/meets?destination=10.0.0.0/8'];
    await checkGuard(t, await openConsole(t, kind), { pages });
  });

  test(`${kind}: what a half typed rule meets is answered, without its own rule`, async (t) => {
    const { admin, database, plainUser } = await openConsole(t, kind);
    const rival = await addRule(database, { action: 'accept', destination: '10.0.0.0/8' });
    const other = await addRule(database, {
      action: 'drop',
      destination: '10.1.0.0/16',
      user_id: plainUser.id,
    });
    const meets = async (query: Record<string, string>): Promise<Met> => {
      const typed = { action: 'accept', enabled: 'true', ...query };
      const path = `/rules/meets?${new URLSearchParams(typed).toString()}`;
      return JSON.parse((await admin.get(path)).text) as Met;
    };
    const both = await meets({ destination: '10.1.2.3/16' });
    t.is(both.meaning, '10.1.2.3/16 means 10.1.0.0/16; leave /16 out for one host.');
    t.deepEqual(
      both.meetings.map(({ id, rules }) => [id, rules.map(({ href }) => href)]),
      [
        ['rivals', [`/rules/${rival.id}`]],
        ['neighbours', [`/rules/${other.id}`]],
      ],
    );
    const own = await meets({ destination: '10.0.0.0/8', id: rival.id });
    t.deepEqual(
      own.meetings.map(({ id }) => id),
      ['neighbours'],
    );
    const users = await meets({ destination: '10.0.0.0/8', whose: 'boss@example.com' });
    t.deepEqual(
      users.meetings.map(({ id }) => id),
      ['neighbours'],
    );
    const nothing = { meaning: null, meetings: [] };
    for (const destination of ['', '10.', NASTY])
      t.deepEqual(await meets({ destination }), nothing);
    t.deepEqual(await meets({ destination: '10.0.0.0/8', whose: 'nobody' }), nothing);
    await write(database, (transaction) => rival.destroy({ transaction }));
    t.deepEqual(
      (await meets({ destination: '10.1.2.3' })).meetings.map(({ id }) => id),
      ['neighbours'],
    );
  });

  test(`${kind}: what a rule would end is asked once a second`, async (t) => {
    const { admin } = await openConsole(t, kind);
    await admin.get('/rules/new');
    const typed = { action: 'drop', destination: '10.0.0.0/8', enabled: 'true', do: 'check' };
    t.true((await admin.post('/rules/new', typed)).text.includes('It would end no flow.'));
    t.true((await admin.post('/rules/new', typed)).text.includes('please check again'));
  });
}
