// Which of the tables of commands obeys: a line for each, and none that nobody obeys.

import test from 'ava';
import { commands, type CommandName } from '../../../lib/cli/grammar.ts';
import { parseCommandLine } from '../../../lib/cli/cli.ts';
import { outcomeOf } from '../../../lib/cli/outcome.ts';
import type { Command } from '../../../lib/cli/run.ts';
import { databaseKinds, openDatabase } from '../../support/database/databases.ts';
import { configOf, logInto } from '../../support/api/server.ts';

const lines: Readonly<Record<string, RegExp>> = {
  'user disable --email a@b.example': /a@b\.example/,
  'rule list': /DESTINATION/,
  'policy-test list': /NAME/,
  migrate: /up to date/,
  'device config --id 00000000-0000-4000-8000-000000000000': /no device/i,
  'import wg-quick /does/not/exist.conf --email a@b.example': /exist\.conf/,
  'restore /does/not/exist.backup': /exist\.backup/,
  'keys rotate --online': /the key is in DATA_DIR/,
  'database compact': /takes \d+\.\d MiB|OPTIMIZE TABLE/,
  serve: /nothing obeys "serve"/,
};

for (const [line, wanted] of Object.entries(lines))
  test(`"${line}" is obeyed, or refused by who knows of it`, async (t) => {
    const parsed = await parseCommandLine(line.split(' '));
    if (!('command' in parsed)) return t.fail(`not understood: ${JSON.stringify(parsed)}`);
    const database = await openDatabase(t, databaseKinds()[0] ?? 'sqlite');
    const rotation = {
      config: configOf(),
      database,
      open: async () => t.fail('opened again') as never,
      log: logInto([]),
    };
    const said = await outcomeOf(parsed.command, rotation).then(
      ({ text }) => text,
      (error: Error) => error.message,
    );
    t.regex(said, wanted);
  });

/** Commands that need no database. */
const elsewhere: readonly CommandName[] = [
  'serve',
  'check-config',
  'serve-rootless',
  'doctor',
  'explain',
  'who',
  'diagnose',
  'capture',
  'flows',
  'refusals',
  'traffic',
  'version',
  'completion',
  'man',
  'token make-bootstrap',
];

test('every command that works on the database is in the table of its file', async (t) => {
  const database = await openDatabase(t, databaseKinds()[0] ?? 'sqlite');
  const open = async () => Promise.reject(new Error('opened again'));
  const rotation = { config: configOf(), database, open, log: logInto([]) };
  const { command } = (await parseCommandLine(['migrate'])) as { command: Command };
  const operand = '/does/not/exist';
  for (const words of Object.keys(commands) as CommandName[]) {
    const asked = { ...command, words, operand, operands: [operand] };
    const said = await outcomeOf(asked, rotation).then(
      () => '',
      (error: Error) => error.message,
    );
    t.is(said.startsWith('nothing obeys'), elsewhere.includes(words), `${words}: ${said}`);
  }
});
