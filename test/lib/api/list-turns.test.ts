// Pages of whole lists take turns, and give way to writes for a while.

import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import Hapi from '@hapi/hapi';
import test from 'ava';
import { giveWayToWrites, ListTurns } from '../../../lib/api/list-turns.ts';

test('pages are read one after the other, each after the writes that are under way', async (t) => {
  const seen: string[] = [];
  const turns = new ListTurns();
  const page = (name: string): Promise<string> =>
    turns.take(async () => {
      seen.push(`${name} begins`);
      await sleep(1);
      seen.push(`${name} ends`);
      return name;
    });
  const end = [turns.beginWrite(), turns.beginWrite()];
  const pages = [page('a'), page('b')];
  end[0]?.();
  await Promise.resolve();
  t.deepEqual(seen, [], 'one is still under way');
  end[1]?.();
  t.deepEqual(await Promise.all(pages), ['a', 'b']);
  t.deepEqual(seen, ['a begins', 'a ends', 'b begins', 'b ends']);
});

test('lists end under writes that never do: some pages follow each that gave way', async (t) => {
  const turns = new ListTurns();
  turns.beginWrite();
  t.is(await turns.take(async () => 7), 7);
  let read = 0;
  for (let i = 0; i < 5; i += 1) void turns.take(async () => (read += 1));
  await nextTurn();
  t.is(read, 4, 'the next one gives way again');
});

test('a page that cannot be read holds up no other', async (t) => {
  const turns = new ListTurns();
  await t.throwsAsync(
    turns.take(() => Promise.reject(new Error('away'))),
    { message: 'away' },
  );
  t.is(await turns.take(async () => 7), 7);
});

/** Counts the writes that a server tells of, and says what is under way by now. */
class CountedTurns extends ListTurns {
  begun = 0;
  underWay = 0;

  override beginWrite(): () => void {
    this.begun += 1;
    this.underWay += 1;
    const end = super.beginWrite();
    return () => {
      this.underWay -= 1;
      end();
    };
  }
}

test('a request that writes is under way from when its body is there to its answer', async (t) => {
  const server = Hapi.server({ host: '127.0.0.1', port: 0 });
  const turns = new CountedTurns();
  giveWayToWrites(server, turns);
  const seen: number[] = [];
  const note = (): string => {
    seen.push(turns.underWay);
    return 'done';
  };
  server.route({ method: ['GET', 'POST', 'PATCH', 'DELETE'], path: '/thing', handler: note });
  server.ext('onPreResponse', (_request, h) => {
    note();
    return h.continue;
  });
  for (const method of ['GET', 'POST', 'PATCH', 'DELETE'])
    await server.inject({ method, url: '/thing' });
  t.deepEqual(seen, [0, 0, 1, 1, 1, 1, 1, 1]);
  t.deepEqual([turns.begun, turns.underWay], [3, 0]);

  await server.start();
  t.teardown(() => server.stop());
  const slow = connect(Number(server.info.port), '127.0.0.1');
  slow.write('POST /thing HTTP/1.1\r\nhost: x\r\ncontent-length: 20\r\n\r\n{"half":');
  await fetch(`${server.info.uri}/thing`);
  t.is(turns.underWay, 0, 'a body that does not come holds up no list');
  slow.destroy();
  await once(slow, 'close');
});
