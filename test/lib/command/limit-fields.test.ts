// The fields of limits, as they are typed.

import test from 'ava';
import { parseCommandLine } from '../../../lib/command/cli.ts';
import { deviceLimits, userLimits } from '../../../lib/command/limit-fields.ts';
import type { Options } from '../../../lib/command/run.ts';
import { UsageError } from '../../../lib/process/usage-error.ts';

function optionsOf(line: string): Options {
  const parsed = parseCommandLine(line.split(' '));
  if (!('command' in parsed)) throw new Error(`not understood: ${line}`);
  return parsed.command.options;
}

test('what was typed is sent, and none takes a limit away', (t) => {
  t.deepEqual(userLimits(optionsOf('user limit --email a@b --down none --quota 1000000')), {
    limit_down: null,
    quota: '1000000',
  });
  t.deepEqual(deviceLimits(optionsOf('device limit --id x --up 64000')), { limit_up: '64000' });
});

test('nothing typed is wrong usage', (t) => {
  const is = { instanceOf: UsageError };
  t.throws(() => userLimits(optionsOf('user limit --email a@b')), { ...is, message: /--quota/ });
  t.throws(() => deviceLimits(optionsOf('device limit --id x')), {
    ...is,
    message: /--down, --up/,
  });
});
