// Rules in words.

import test from 'ava';
import { portsOf, ruleInWords, ruleLink } from '../../../../lib/web/parts/rule-words.ts';
import { readRules } from '../../../../models/index.ts';
import { addRule, addUser } from '../../../models/fixtures.ts';
import { openDatabase } from '../../../support/database/databases.ts';

test('a rule is one line, with its ports where it has some', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const table = [
    [{ action: 'accept', destination: '10.0.0.0/8' }, null, 'Accept 10.0.0.0/8'],
    [
      { action: 'drop', destination: 'fd00::/8', port_type: 'tcp', port_start: 80, port_end: 90 },
      'TCP 80 - 90',
      'Drop fd00::/8 TCP 80 - 90',
    ],
    [
      { action: 'drop', destination: '10.9.9.9', port_type: 'udp', port_start: 53, port_end: 53 },
      'UDP 53',
      'Drop 10.9.9.9 UDP 53',
    ],
    [{ destination: '10.9.9.9', protocol: 'icmp' }, 'ICMP', 'Drop 10.9.9.9 ICMP'],
  ] as const;
  for (const [fields, ports, words] of table) {
    const { id } = await addRule(database, fields);
    const [rule] = await readRules(database, { ids: [id] });
    t.is(portsOf(rule!), ports);
    t.is(ruleInWords(rule!), words);
  }
});

test('a link to a rule says whose it is', async (t) => {
  const database = await openDatabase(t, 'sqlite');
  const owner = await addUser(database);
  const own = await addRule(database, { destination: '10.0.0.0/8', user_id: owner.id });
  const other = await addRule(database, { destination: '10.0.0.0/8' });
  const rules = await readRules(database, { ids: [own.id, other.id] });
  const whose = (emails: ReadonlyMap<string, string>) =>
    Object.fromEntries(rules.map((rule) => [rule.id, ruleLink(rule, emails).whose]));
  t.deepEqual(whose(new Map([[owner.id, 'a@b.example']])), {
    [own.id]: 'a@b.example',
    [other.id]: 'everyone',
  });
  t.is(whose(new Map())[own.id], 'a user');
  t.is(ruleLink(rules[0]!, new Map()).href, `/rules/${rules[0]!.id}`);
});
