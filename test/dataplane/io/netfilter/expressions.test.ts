// Expressions of rules: each means to the program nft what it should mean.

import test from 'ava';
import { inOwnNetwork } from '../../../support/network/rights.ts';

const FOUR = '{ network: new Uint8Array([10, 1, 2, 3]), prefixBits: 12 }';
const SIX = '{ network: new Uint8Array([0xfd, ...Array(15).fill(7)]), prefixBits: 65 }';

/** Expressions of one rule, and how nft lists it. */
const rules: readonly [expressions: string, listed: string][] = [
  [`x.comesBy('wg0')`, 'iifname "wg0"'],
  [`x.comesBy('fifteen-letters')`, 'iifname "fifteen-letters"'],
  [`x.leavesBy('wg0')`, 'oifname "wg0"'],
  [`x.leavesByOther('wg0')`, 'oifname != "wg0"'],
  ['x.isOfFamily(4)', 'meta nfproto ipv4'],
  ['x.isOfFamily(16)', 'meta nfproto ipv6'],
  ['x.isTcp()', 'meta l4proto tcp'],
  [`x.comesFrom(${FOUR})`, 'ip saddr 10.0.0.0/12'],
  [`x.comesFrom(${SIX})`, 'ip6 saddr fd07:707:707:707::/65'],
  [`x.comesFromSet('n4', 4)`, 'ip saddr @n4'],
  [`x.comesFromSet('n6', 16)`, 'ip6 saddr @n6'],
  ['x.isInState(x.STATE.invalid | x.STATE.untracked)', 'ct state invalid,untracked'],
  ['x.opensConnection()', 'ct state new ct status ! confirmed'],
  [`x.hasMoreConnections('c4', 4, 70)`, 'add @c4 { ip saddr ct count over 70 }'],
  [`x.hasMoreConnections('c6', 16, 70)`, 'add @c6 { ip6 saddr ct count over 70 }'],
  [
    '[...x.isTcp(), ...x.isRoutedBeyond()]',
    'meta l4proto tcp fib daddr type != local fib daddr oif exists',
  ],
  [`x.count('n')`, 'counter name "n"'],
  [`[...x.isTcp(), ...x.setTimeouts('t4')]`, 'meta l4proto tcp ct timeout set "t4"'],
  ['x.drop()', 'drop'],
  [`x.goTo('leaf')`, 'goto leaf'],
];
const translations: readonly [hook: string, expressions: string, listed: string][] = [
  ['sourceNat', 'x.masquerade()', 'masquerade'],
  [
    'destinationNat',
    '[...x.isTcp(), ...x.redirect(50_000)]',
    'meta l4proto tcp redirect to :50000',
  ],
];

test('nft reads each expression as it is meant', async (t) => {
  const found = await inOwnNetwork(
    t,
    `await (async (x) => {
      const one = new table.Transaction('one').addTable().addCounter('n').addChain('leaf');
      one.addNetworkSet('n4', 4).addNetworkSet('n6', 16);
      one.addCountingSet('c4', 4, 9).addCountingSet('c6', 16, 9);
      one.addTcpTimeouts('t4', 4, { established: 5, timeWait: 6 });
      one.addChain('rules', table.HOOK.forward);
      for (const rule of [${rules.map(([rule]) => rule).join(', ')}]) one.addRule('rules', rule);
      for (const [hook, rule] of [${translations.map(([hook, rule]) => `['${hook}', ${rule}]`).join(', ')}])
        one.addChain(hook, table.HOOK[hook]).addRule(hook, rule);
      return [one.commit(), await nft('list', 'table', 'inet', 'one')];
    })(expressions)`,
  );
  if (found === null) {
    t.pass();
    return;
  }
  const [refusal, listed] = found as [unknown, string];
  t.is(refusal, null);
  const linesOf = (chain: string): string[] => {
    const [, behind = ''] = listed.split(`\tchain ${chain} {\n`);
    const [, ...lines] = (behind.split('\n\t}')[0] ?? '').split('\n');
    return lines.map((line) => line.trim());
  };
  t.deepEqual(
    linesOf('rules'),
    rules.map(([, text]) => text),
  );
  for (const [hook, , text] of translations) t.deepEqual(linesOf(hook), [text]);
  t.regex(listed, /type nat hook postrouting priority srcnat; policy accept;/);
  t.regex(listed, /type nat hook prerouting priority dstnat; policy accept;/);
});
