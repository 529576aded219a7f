// Servers that the gateway itself needs: where packets leave by sockets, a device reaches them only
// by a rule that names exactly their address.

import test from 'ava';
import { reasons } from '../../../dataplane/reasons.ts';
import type { RuleConfig } from '../../../dataplane/contract.ts';
import { asked, Tables } from '../../support/filter/verdicts.ts';
import { address, flagsOf, tcp } from '../../support/dataplane/packets.ts';
import { rule } from '../../support/dataplane/simulation.ts';
import { compileScope } from '../../support/dataplane/whole-configs.ts';

const DATABASE = '10.9.0.5';
const DATABASE6 = 'fd09::5';

function reasonFor(tables: Tables, destination: string): string {
  const source = destination.includes(':') ? 'fd00::2' : '10.0.0.2';
  const packet = tcp({ source, destination, destinationPort: 3_306, flags: flagsOf('S') });
  const { reason } = asked(packet, (view, offset, length, verdict) =>
    tables.inward.judge(view, offset, length, tables.peers[0]!, verdict),
  );
  return Object.entries(reasons).find(([, number]) => number === reason)![0];
}

function guarding(hasSockets = true): Tables {
  const tables = new Tables(!hasSockets, hasSockets);
  const guarded = [DATABASE, DATABASE6].map(address);
  tables.sanity.setHostAddresses({ here: [], outside: [], guarded });
  return tables;
}

test('without a rule that names it, a server that the gateway needs is out of reach', (t) => {
  const tables = guarding();
  for (const to of [DATABASE, DATABASE6]) t.is(reasonFor(tables, to), 'inner_destination_host', to);
  t.is(reasonFor(tables, '10.9.0.6'), 'none');
  // With a TUN the host and its packet filter are asked.
  t.is(reasonFor(guarding(false), DATABASE), 'none');
  tables.sanity.setHostAddresses({ here: [], outside: [] });
  t.is(reasonFor(tables, DATABASE), 'none');
});

const everyone: [rules: RuleConfig[], reason: string][] = [
  [[rule('1', 'accept', '0.0.0.0/0')], 'inner_destination_host'],
  [[rule('1', 'accept', '10.9.0.4/31')], 'inner_destination_host'],
  [
    [rule('1', 'accept', '10.9.0.5/32'), rule('1', 'accept', '10.9.0.6/32')],
    'inner_destination_host',
  ],
  [[rule('1', 'accept', '10.9.0.5/32')], 'none'],
  [[rule('1', 'accept', '10.9.0.5/32', { type: 'tcp', first: 3_306 })], 'none'],
  [[rule('1', 'accept', '10.9.0.5/32', { type: 'tcp', first: 80 })], 'inner_destination_host'],
  [[rule('1', 'drop', '10.9.0.5/32')], 'rule_drop'],
];

for (const [rules, reason] of everyone)
  for (const scope of ['', '0'])
    test(`${scope} ${rules.map(({ action, prefixBits }) => `${action} /${prefixBits}`).join()} ${reason} ${rules[0]!.portFirst}`, (t) => {
      const tables = guarding();
      tables.filter.change(scope, compileScope(rules));
      t.is(reasonFor(tables, DATABASE), reason);
      tables.filter.change(scope, null);
      t.is(reasonFor(tables, DATABASE), 'inner_destination_host');
    });

test('a rule that names the server, and then its network, is asked again', (t) => {
  const tables = guarding();
  tables.filter.change('', compileScope([rule('1', 'accept', '10.9.0.5/32')]));
  t.is(reasonFor(tables, DATABASE), 'none');
  tables.filter.change('', compileScope([rule('1', 'accept', '10.9.0.0/24')]));
  t.is(reasonFor(tables, DATABASE), 'inner_destination_host');
});
