// What help says of a noun, and how a command is typed. The whole is in cli.test.ts.

import test from 'ava';
import { helpText, nounText, usageOf } from '../../../lib/cli/help.ts';

const commands = {
  serve: { line: 'Serves.', usage: '', sentence: 'Serves.', takes: [] },
  'dog walk': {
    line: 'Walks a dog.',
    usage: '--id ID',
    sentence: 'Walks a dog.',
    takes: ['id', 'json'],
  },
  'dog list': { line: 'Lists dogs.', usage: '', sentence: 'Lists dogs.', takes: ['json'] },
} as const;

test('a noun lists its verbs, and no other command', (t) => {
  const text = nounText(commands, ['dog']) ?? '';
  t.regex(text, /^dog wants a verb:\n\n {2}dog walk {19}Walks a dog\.\n/);
  t.regex(text, / {2}dog list {19}Lists dogs\./);
  t.notRegex(text, /serve/);
  t.regex(nounText(commands, ['dog', 'feed']) ?? '', /^there is no command "dog feed":/);
  t.regex(
    nounText(commands, ['dog', 'wlak']) ?? '',
    /^there is no command "dog wlak"; did you mean `dog walk`\?:[^]*dog walk --help$/,
  );
  t.is(nounText(commands, ['cat']), null);
});

test('help is of a command, of a noun, or of everything', (t) => {
  t.regex(
    helpText(commands, ['dog', 'walk']),
    /^usage: postern dog walk[^]*--id ID +What the record/,
  );
  t.regex(helpText(commands, ['dog']), /^dog wants a verb/);
  for (const words of [[], ['cat'], ['constructor']])
    t.regex(helpText(commands, words), /^postern: [^]*serve[^]*Exit status/);
});

test('a command is shown as it is typed', (t) => {
  t.is(usageOf('serve', commands.serve), 'postern serve');
  t.is(usageOf('dog list', commands['dog list']), 'postern dog list [--json]');
});
