// The scripts of shells hold every command and option. The shells themselves run them in
// test/ops/completion.test.ts.

import test from 'ava';
import { CHOICES, completionOf, shells } from '../../../lib/cli/completion.ts';
import { commands, type Entry, otherVerbs } from '../../../lib/cli/grammar.ts';
import { SCOPES } from '../../../lib/kit/operations/scopes.ts';
import { policyTestFields, ruleFields, searchOrders, userFields } from '../../../models/index.ts';
import { STEPS } from '../../../models/queries/history.ts';

test('each shell that the grammar names has a script, and no other', (t) => {
  const entry: Entry = commands.completion;
  t.deepEqual(shells, entry.choices);
  t.is(entry.usage, shells.join('|'));
  t.throws(() => completionOf('ksh'), { message: 'there is no completion for ksh' });
});

for (const shell of shells)
  test(`the script of ${shell} holds every command and every option, and starts nothing`, (t) => {
    const script = completionOf(shell);
    for (const [name, { takes }] of Object.entries(commands)) {
      for (const word of name.split(' ')) t.regex(script, new RegExp(`\\b${word}\\b`), name);
      for (const option of takes)
        t.regex(script, new RegExp(shell === 'fish' ? `-l ${option} ` : `--${option}\\b`), name);
    }
    // The program is named where its completion is set, and is not run.
    t.notRegex(script, /\$\(\s*postern|`postern (?!completion)|^\s*postern /m);
    t.true(script.endsWith('\n') && !script.endsWith('\n\n'));
  });

test('an option is completed by the words that its operation takes', (t) => {
  const { action, port_type, protocol } = ruleFields;
  const tested = policyTestFields;
  const words = {
    role: userFields.role.column.words,
    action: action.column.words,
    expect: tested.expect.column.words,
    'port-type': port_type.column.words,
    protocol: tested.protocol.column.words,
    scopes: SCOPES,
    step: STEPS.map(String),
    sort: searchOrders('devices'),
  };
  const sorted = (lists: Readonly<Record<string, readonly string[] | undefined>>): object =>
    Object.fromEntries(
      Object.entries(lists).map(([name, list]) => [name, [...(list ?? [])].toSorted()]),
    );
  t.deepEqual(sorted(CHOICES), sorted(words));
  // A rule takes the same protocols, those with ports as the type of its ports.
  const ofRules = [...port_type.column.words, ...protocol.column.words];
  t.deepEqual(ofRules.toSorted(), words.protocol.toSorted());
});

test('verbs of other programs are not offered', (t) => {
  for (const verb of Object.keys(otherVerbs)) {
    const nouns = Object.keys(commands).filter((name) => name.endsWith(` ${verb}`));
    for (const [shell, offer] of [
      ['bash', new RegExp(`\\bwords='[^']*\\b${verb}\\b`, 'g')],
      ['zsh', new RegExp(`^ +'${verb}:`, 'gm')],
      ['fish', new RegExp(` -a ${verb} -d`, 'g')],
    ] as const)
      t.is(completionOf(shell).match(offer)?.length ?? 0, nouns.length, `${shell}: ${verb}`);
  }
});
