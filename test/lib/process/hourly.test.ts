// Chores: done at the start, one after the other, and one that fails keeps no other from its turn.

import test from 'ava';
import { startHourly } from '../../../lib/process/hourly.ts';
import { type LogLine, logInto } from '../../support/api/server.ts';

test('every chore has its turn, and a failure is told without its words', async (t) => {
  const done: string[] = [];
  const lines: LogLine[] = [];
  const chores = [
    {
      failure: 'the first was not done',
      run: async () => {
        throw new TypeError('a secret value');
      },
    },
    {
      failure: 'the second was not done',
      run: async () => void done.push('second'),
    },
  ];
  await startHourly(chores, logInto(lines)).stop();
  t.deepEqual(done, ['second']);
  t.deepEqual(lines, [
    {
      level: 'warn',
      fields: { error: 'TypeError' },
      message: 'the first was not done; tried again in an hour',
    },
  ]);
});
