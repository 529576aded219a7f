// Where commands write: every command that performs operations is in the table.

import test from 'ava';
import { type CommandName, commands } from '../../../lib/cli/grammar.ts';
import { rowOf } from '../../../lib/cli/rows.ts';
import { whereWritten } from '../../../lib/cli/where-written.ts';

const names = Object.keys(commands) as CommandName[];

test('every row is performed at the gateway that runs', async (t) => {
  for (const name of names)
    if ((await rowOf(name)) !== null)
      t.true(['gateway', 'urgent'].includes(String(whereWritten(name))), name);
});

test('what ends access works beside a gateway that hangs', (t) => {
  const urgent = names.filter((name) => whereWritten(name) === 'urgent');
  t.deepEqual(urgent.toSorted(), [
    'admin create-or-reset',
    'device disable',
    'rule delete',
    'rule disable',
    'token revoke',
    'user disable',
    'user reset-mfa',
    'user unlock',
  ]);
});

test('what only reads or prints is nowhere in the table', (t) => {
  const isReading = (name: CommandName): boolean => / (list|show|members|run|config)$/.test(name);
  for (const name of names.filter(isReading)) t.is(whereWritten(name), null, name);
});
