// What help says of a noun, and how a command is typed. The whole is in cli.test.ts.

import test from 'ava';
import { helpText, nounText, usageOf } from '../../../lib/cli/help.ts';

const commands = {
  serve: { usage: '', sentence: 'Serves.', takes: [] },
  'dog walk': { usage: '--id ID', sentence: 'Walks a dog.', takes: ['id', 'json'] },
  'dog list': { usage: '', sentence: 'Lists dogs.', takes: ['json'] },
} as const;

test('a noun lists its verbs, and no other command', (t) => {
  const text = nounText(commands, ['dog']) ?? '';
  t.regex(text, /^dog wants a verb:\n\n {2}dog walk --id ID \[--json\]\n {6}Walks a dog\./);
  t.regex(text, /dog list \[--json\]/);
  t.notRegex(text, /serve/);
  t.regex(nounText(commands, ['dog', 'feed']) ?? '', /^there is no command "dog feed":/);
  t.is(nounText(commands, ['cat']), null);
});

test('help is of a command, of a noun, or of everything', (t) => {
  t.regex(helpText(commands, ['dog', 'walk']), /^usage: postern dog walk[^]*--id ID +The id/);
  t.regex(helpText(commands, ['dog']), /^dog wants a verb/);
  for (const words of [[], ['cat'], ['constructor']])
    t.regex(helpText(commands, words), /^postern: [^]*serve[^]*dog walk[^]*Exit status/);
});

test('a command is shown as it is typed', (t) => {
  t.is(usageOf('serve', commands.serve), 'postern serve');
  t.is(usageOf('dog list', commands['dog list']), 'postern dog list [--json]');
});
