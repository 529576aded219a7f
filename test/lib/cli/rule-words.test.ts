// A rule in words says what it lets pass or not, for whom, and its short id; `explain` prints it.

import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import { shortId } from '../../../lib/cli/naming.ts';
import { rulesInWords, ruleInWords } from '../../../lib/cli/rule-words.ts';
import { LocalGateway } from '../../../lib/cli/ask-gateway.ts';
import { newId } from '../../../models/index.ts';
import { openLocally } from '../../support/api/local-socket.ts';
import { addDevice, addRule, addUser } from '../../support/database/records.ts';
import { fakeExplaining, passing } from '../../support/observe/fake-gateway.ts';

const rule = {
  id: '01900000-0000-7000-8000-00001a2b3c4d',
  action: 'accept',
  destination: '10.0.0.0/8',
  port_type: null,
  port_range: null,
  protocol: null,
  user_id: null,
  group_id: null,
  description: null,
};

test('traffic, destination, owner and what the rule is for', (t) => {
  t.is(ruleInWords(rule, 'everyone'), 'accept all traffic to 10.0.0.0/8, for everyone (1a2b3c4d)');
  const web = { ...rule, port_type: 'tcp', port_range: '443', description: 'the wiki' };
  t.is(
    ruleInWords(web, 'ann@b.example'),
    'accept tcp 443 to 10.0.0.0/8, for ann@b.example: the wiki (1a2b3c4d)',
  );
  t.regex(ruleInWords({ ...rule, protocol: 'icmp' }, 'everyone'), /^accept icmp to /);
});

test('rules of users and groups are named, and one that was removed stays an id', async (t) => {
  const { database, config } = await openLocally(t);
  const user = await addUser(database, { email: 'ann@b.example' });
  const own = await addRule(database, { destination: '10.0.0.9', user_id: user.id });
  const gone = newId();
  t.deepEqual(await rulesInWords(new LocalGateway(config), [own.id, gone]), [
    `drop all traffic to 10.0.0.9, for ann@b.example (${shortId(own.id)})`,
    gone,
  ]);
});

test('of many rules, twenty at most are asked for at once, and the order is kept', async (t) => {
  let [open, most] = [0, 0];
  const gateway = {
    finds: {} as LocalGateway['finds'],
    async findRuleById(id: string) {
      open += 1;
      most = Math.max(most, open);
      await setImmediate();
      open -= 1;
      return id === 'gone 7' ? null : { ...rule, id };
    },
  };
  const ids = Array.from({ length: 2_500 }, (_, i) => (i === 7 ? 'gone 7' : newId()));
  const words = await rulesInWords(gateway, ids);
  t.is(most, 20);
  t.deepEqual(
    words,
    ids.map((id) => (id === 'gone 7' ? id : ruleInWords({ ...rule, id }, 'everyone'))),
  );
});

test('explain names the rule that decides', async (t) => {
  let id = '';
  const explaining = fakeExplaining(async () => ({
    ...passing,
    decision: { by: 'rule', rule: id, staged: null, flow: 'opens', opener: null },
  }));
  const { database, run } = await openLocally(t, { explaining });
  const user = await addUser(database);
  await addDevice(database, user.id, { name: 'laptop', ipv4: '100.64.9.9' });
  ({ id } = await addRule(database, { destination: '192.0.2.0/24', action: 'accept' }));
  const outcome = await run('explain', 'laptop', '192.0.2.1', 'tcp/443');
  const words = `rule: accept all traffic to 192.0.2.0/24, for everyone (${shortId(id)})`;
  t.true(outcome?.text.includes(`\n${words}\n`), outcome?.text);
  t.like(outcome?.data, { rule_id: id });
});
