// The question to the person at the terminal.

import { PassThrough } from 'node:stream';
import test from 'ava';
import { personAtTerminal } from '../../../lib/cli/ask-person.ts';

function terminal(isTTY: boolean) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  return { input: Object.assign(input, { isTTY }), output: Object.assign(output, { isTTY }) };
}

test('nobody is asked where nobody sits', (t) => {
  t.is(personAtTerminal(terminal(false)), null);
});

for (const [typed, wanted] of [
  ['y\n', true],
  ['Yes \n', true],
  ['n\n', false],
  ['\n', false],
  ['', false],
] as const)
  test(`${JSON.stringify(typed)} is ${wanted ? 'yes' : 'no'}`, async (t) => {
    const ends = terminal(true);
    const asked = personAtTerminal(ends)?.('Make 2 devices?');
    ends.input.end(typed);
    t.is(await asked, wanted);
    t.regex(String(ends.output.read()), /Make 2 devices\? \[y\/N\] /);
  });
