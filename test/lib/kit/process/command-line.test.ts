// Which command a person has to type: that of a checkout, because no test runs in the container.

import test from 'ava';
import { commandLine } from '../../../../lib/kit/process/command-line.ts';

test('a command is named as it is typed', (t) => {
  t.is(commandLine('device list'), 'npm run -s postern -- device list');
});
