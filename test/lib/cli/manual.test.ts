// The manual page holds every command and option. `mandoc` reads it in test/ops/completion.test.ts.

import test from 'ava';
import { commands } from '../../../lib/cli/grammar.ts';
import { manualPage } from '../../../lib/cli/manual.ts';

const page = manualPage('7.8.9', new Date('2026-11-30T23:59:59Z'));

test('every command is in the page once, with its options', (t) => {
  for (const [name, { takes }] of Object.entries(commands)) {
    const typed = name.replaceAll('-', '\\-');
    const [, ...behind] = page.split(
      new RegExp(`^\\\\fBpostern ${typed.replaceAll('\\', '\\\\')}(?= |\\\\f)`, 'm'),
    );
    t.is(behind.length, 1, name);
    const own = behind[0]?.split('\\fBpostern ')[0] ?? '';
    for (const option of takes)
      t.true(own.includes(`\\fB\\-\\-${option.replaceAll('-', '\\-')}`), `${name} ${option}`);
  }
});

test('a line is short, plain ASCII, and a macro only where one is meant', (t) => {
  t.true(page.startsWith('.TH POSTERN 1 2026-11-30 "Postern 7.8.9" "Postern"\n.SH NAME\n'));
  for (const line of page.trimEnd().split('\n')) {
    t.regex(line, /^[ -~]+$/);
    t.regex(line, /^(?:[^.']|\.(?:TH|SH|SS|TP|RS|RE|B|I|RI)(?: |$))/);
    if (!line.startsWith('\\fB')) t.true(line.length <= 78, line);
  }
});
