// What is said of commands and options that there are not. More lines are in cli.test.ts.

import test from 'ava';
import { unknownCommand, unknownVerb, unreadable } from '../../../lib/cli/unknown.ts';

test('a verb that is none names those of its noun, and the one that was meant', (t) => {
  const said = unknownVerb(['device', 'lst']) ?? '';
  t.regex(said, /^there is no command "device lst"; did you mean `device list`\?:\n/);
  t.regex(said, /\n {2}device create +Makes a device[^]*device list --help$/);
  t.regex(unknownVerb(['device', '-']) ?? '', /^there is no command "device -":\n/);
  t.is(unknownVerb(['cat', 'feed']), null);
});

test('a noun alone wants a verb, and other words name what was meant', (t) => {
  t.regex(unknownCommand(['device']), /^device wants a verb:\n/);
  t.regex(
    unknownCommand(['devcie', 'list']),
    /^there is no command "devcie list"; did you mean `device list`\?; see: .* help$/,
  );
  t.regex(unknownCommand(['dance']), /^there is no command "dance"; see: .* help$/);
});

test('an option that is none is named with the usage of its command', (t) => {
  const error = new Error("Unknown option '--onlin'. To specify a positional argument, …");
  t.regex(
    unreadable(['device', 'list', '--onlin'], error),
    /^Unknown option '--onlin'; did you mean `--online`\?; usage: postern device list /,
  );
});
