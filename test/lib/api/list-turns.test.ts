// Pages of whole lists take turns, and give way to writes for a while.

import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { ListTurns } from '../../../lib/api/list-turns.ts';

test('pages are read one after the other, each after the writes that run', async (t) => {
  const seen: string[] = [];
  let ending: () => void = () => undefined;
  const turns = new ListTurns({
    whenIdle: (limitMs) => {
      t.true(limitMs > 0 && limitMs <= 100, 'a list ends under writes that never cease');
      seen.push('gives way');
      return new Promise((resolve) => (ending = resolve));
    },
  });
  const page = (name: string): Promise<string> =>
    turns.take(async () => {
      seen.push(`${name} begins`);
      await sleep(20);
      seen.push(`${name} ends`);
      return name;
    });
  const pages = [page('a'), page('b')];
  await sleep(20);
  t.deepEqual(seen, ['gives way']);
  ending();
  await pages[0];
  await sleep(20);
  ending();
  t.deepEqual(await Promise.all(pages), ['a', 'b']);
  t.deepEqual(seen, ['gives way', 'a begins', 'a ends', 'gives way', 'b begins', 'b ends']);
});

test('a page that cannot be read holds up no other', async (t) => {
  const turns = new ListTurns({ whenIdle: async () => undefined });
  await t.throwsAsync(
    turns.take(() => Promise.reject(new Error('away'))),
    { message: 'away' },
  );
  t.is(await turns.take(async () => 7), 7);
});
