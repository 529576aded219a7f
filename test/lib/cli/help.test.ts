// What help says of a noun. The whole is in cli.test.ts.

import test from 'ava';
import { helpText, nounText, wordsOfOption } from '../../../lib/cli/help.ts';

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
  const none = { says: 'a dog is no cat', meant: 'dog list' };
  t.regex(nounText(commands, ['dog'], none) ?? '', /^a dog is no cat:\n[^]*dog list --help$/);
  t.is(nounText(commands, ['cat']), null);
});

test('help is of a command, of a noun, or of everything', (t) => {
  t.regex(
    helpText(commands, ['dog', 'walk']),
    /^usage: postern dog walk[^]*--id ID +The id, or the last 8 digits of it/,
  );
  t.regex(helpText(commands, ['dog']), /^dog wants a verb/);
  for (const words of [[], ['cat'], ['constructor']])
    t.regex(helpText(commands, words), /^postern: [^]*serve[^]*Exit status/);
});

test('--id says what it names', (t) => {
  const ofId = (name: string) => wordsOfOption(name, 'id', commands['dog walk']);
  t.deepEqual(ofId('device delete')[0], 'DEVICE');
  t.regex(ofId('provider trust')[1], /^The id of the provider, .*oidc\/ID or saml\/ID/);
  t.notRegex(ofId('provider trust')[1], /last 8 digits|name/);
  t.regex(ofId('rule update')[1], /last 8 digits/);
});

test('help says which option may be left out', (t) => {
  const leftOut = /The word --id may be left out\.$/m;
  t.notRegex(helpText(commands, ['dog', 'walk']), leftOut);
  const needed = { ...commands['dog walk'], usage: 'ID', needs: ['id'] } as const;
  t.regex(helpText({ 'dog walk': needed }, ['dog', 'walk']), leftOut);
});
