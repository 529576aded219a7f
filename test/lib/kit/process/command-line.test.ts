// Which command a person has to type: that of a checkout, because no test runs in the container.

import test from 'ava';
import { commandLine, withoutStartedAs } from '../../../../lib/kit/process/command-line.ts';

test('a command is named as it is typed', (t) => {
  t.is(commandLine('device list'), 'npm run -s postern -- device list');
});

test('hints name the program as the launcher was started', (t) => {
  t.deepEqual(withoutStartedAs(['device', 'list']), ['device', 'list']);
  t.deepEqual(withoutStartedAs([]), []);
  t.is(commandLine('help'), 'npm run -s postern -- help');
  t.deepEqual(withoutStartedAs(['--started-as=/opt/postern/lib/postern', 'help']), ['help']);
  t.is(commandLine('help'), '/opt/postern/lib/postern help');
  t.deepEqual(withoutStartedAs(['--started-as=npm run -s postern --']), []);
});
