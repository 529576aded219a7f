// How a command is typed.

import test from 'ava';
import { commands } from '../../../lib/cli/grammar.ts';
import { listOf, usageOf } from '../../../lib/cli/options.ts';

test('a command is shown as it is typed', (t) => {
  t.is(usageOf('serve', commands.serve), 'postern serve');
  t.is(usageOf('user list', commands['user list']), 'postern user list [--watch] [--json]');
});

test('words are listed as a person lists them', (t) => {
  t.is(listOf(['bash', 'zsh', 'fish']), 'bash, zsh or fish');
});
