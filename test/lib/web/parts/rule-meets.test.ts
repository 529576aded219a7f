// The rules that a rule meets, each kind with what it means; kinds without rules are left out.

import test from 'ava';
import { meetingsOf } from '../../../../lib/web/parts/rule-meets.ts';
import { readRules } from '../../../../models/index.ts';
import { addRule, addUser } from '../../../models/fixtures.ts';
import { databaseKinds, openDatabase } from '../../../support/database/databases.ts';

for (const kind of databaseKinds())
  test(`${kind}: each kind that has rules is named, with whose they are`, async (t) => {
    const database = await openDatabase(t, kind);
    const user = await addUser(database, { email: 'ann@example.com' });
    const { id } = await addRule(database, { destination: '10.0.0.0/8', user_id: user.id });
    const [rule] = await readRules(database, { ids: [id] });
    if (rule === undefined) throw new Error('the rule is there');
    const none = { rivals: [], others: [], shadow: null, shadowed: [] };
    t.deepEqual(await meetingsOf(database, none), []);
    const met = await meetingsOf(database, { ...none, others: [rule], shadow: rule });
    t.deepEqual(
      met.map((meeting) => [meeting.id, meeting.isWarning]),
      [
        ['shadow', true],
        ['neighbours', false],
      ],
    );
    const line = { href: `/rules/${id}`, text: 'Drop 10.0.0.0/8', whose: 'ann@example.com' };
    t.deepEqual(met[1]?.rules, [line]);
    const all = await meetingsOf(database, { ...none, rivals: [rule], shadowed: [rule] });
    t.deepEqual(
      all.map((meeting) => meeting.id),
      ['shadowed', 'rivals'],
    );
  });
