// Commands that need no settings and no database.

import test from 'ava';
import { outcomeOfAlone } from '../../../lib/cli/alone-commands.ts';
import { isAlone, parseCommandLine } from '../../../lib/cli/cli.ts';
import { completionOf } from '../../../lib/cli/completion.ts';
import { type CommandName, commands } from '../../../lib/cli/grammar.ts';
import type { Outcome } from '../../../lib/cli/run.ts';

async function run(...words: string[]): Promise<Outcome> {
  const parsed = await parseCommandLine(words);
  if (!('command' in parsed)) throw new Error(JSON.stringify(parsed));
  return outcomeOfAlone(parsed.command);
}

test('the script of a shell and the manual page are printed', async (t) => {
  t.is(`${(await run('completion', 'zsh')).text}\n`, completionOf('zsh'));
  t.regex((await run('man')).text, /^\.TH POSTERN 1 20\d\d-\d\d-\d\d /);
});

test('every command that is alone is obeyed, but the version, which loads nothing', async (t) => {
  const alone = (Object.keys(commands) as CommandName[]).filter(isAlone);
  t.deepEqual(alone, ['version', 'completion', 'man', 'token make-bootstrap']);
  for (const name of alone.slice(1)) {
    const operands = name === 'completion' ? ['bash'] : [];
    t.true((await run(...name.split(' '), ...operands)).text.length > 0, name);
  }
  await t.throwsAsync(run('device', 'list'), { message: 'nothing obeys "device list"' });
});
