// A command that needs no settings and no database prints its result, and what people should know
// beside it.

import test from 'ava';
import { parseCommandLine } from '../../../lib/cli/cli.ts';
import { obeyAlone } from '../../../lib/start/obey-alone.ts';
import { keepOutput } from '../../support/gateway/obeyed-command.ts';

test.serial('the token alone is on standard output', async (t) => {
  for (const [option, form] of [
    [[], /^pst_[\w-]{43}\n$/],
    [['--json'], /^\{"token":"pst_[\w-]{43}"\}\n$/],
  ] as const) {
    const parsed = await parseCommandLine(['token', 'make-bootstrap', ...option]);
    if (!('command' in parsed)) throw new Error('not understood');
    const output = keepOutput();
    const status = await obeyAlone(parsed.command).finally(() => output.release());
    t.is(status, 0);
    t.regex(output.printed.stdout, form);
    t.regex(output.printed.stderr, /^Set it as BOOTSTRAP_API_TOKEN of the gateway/);
  }
});
