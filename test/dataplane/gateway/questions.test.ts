// Questions to workers: who is asked, who is waited for, and that lists are read one after the
// other. With real workers: gateway.test.ts.

import test from 'ava';
import type { TriedChange } from '../../../dataplane/diff.ts';
import type { WorkerQuestion } from '../../../dataplane/worker/answers.ts';
import { type Ask, askerOf, waitsForWorker } from '../../../dataplane/gateway/questions.ts';

/** Workers that answer as a test says, and note what they were asked. */
function scripted(count: number, answer: () => unknown): { ask: Ask; asked: string[] } {
  const asked: string[] = [];
  const ask = askerOf({
    count: () => count,
    async ask(worker, name, ..._asked) {
      asked.push(`${name} ${worker}`);
      await Promise.resolve();
      const report = answer();
      asked.push(`answer ${worker}`);
      return report as never;
    },
    trial: () => (): TriedChange => ({ peers: [], scopes: [] }),
  });
  return { ask, asked };
}

test('every worker is asked about handshakes, and the receptionist about strangers', async (t) => {
  const workers = scripted(2, () => null);
  t.is(await workers.ask('diagnose', 'key'), null);
  t.deepEqual(await workers.ask('unknownSenders'), { keys: [], otherGateway: [] });
  t.deepEqual(
    workers.asked.filter((line) => !line.startsWith('answer')),
    ['trace 0', 'trace 1', 'unknownSenders 0'],
  );
});

test('a packet that no worker judges is not explained', async (t) => {
  const workers = scripted(2, () => null);
  t.is(await workers.ask('explain', { from: 'key', packet: new Uint8Array(20) }), null);
});

test('lists do not wait for a worker that starts, and are read one after the other', async (t) => {
  const workers = scripted(2, () => null);
  const anyone = { device: null, scope: null };
  const lists = [
    workers.ask('flows', { ...anyone, destination: null, rule: null }, 10, null),
    workers.ask('endedFlows', { ...anyone, destination: null, rule: null }, 10, null),
    workers.ask('refusals', { ...anyone, reason: null }, 10),
    workers.ask('effectOf', { peers: new Map(), rules: new Map() }, 10),
  ] as const;
  t.deepEqual(await Promise.all(lists), [
    { flows: [], next: null },
    { flows: [], next: null },
    [],
    { ended: { count: 0, found: [], devices: [] }, passed: { count: 0, found: [] } },
  ]);
  const kinds = workers.asked.filter((line) => !line.startsWith('answer'));
  t.deepEqual(kinds.map((line) => line.split(' ')[0]).slice(0, 6), [
    'flows',
    'flows',
    'pastFlows',
    'pastFlows',
    'refusals',
    'refusals',
  ]);
  for (const name of ['flows', 'pastFlows', 'refusals', 'endedFlows', 'passedRefusals'] as const)
    t.false(waitsForWorker(name), name);
  for (const name of ['explain', 'trace', 'unknownSenders'] satisfies WorkerQuestion[])
    t.true(waitsForWorker(name), name);
});

test('a list that fails does not hold up the next one', async (t) => {
  let fails = true;
  const workers = scripted(1, () => {
    if (fails) throw new Error('the gateway is closed');
    return null;
  });
  const query = { device: null, scope: null, reason: null };
  await t.throwsAsync(workers.ask('refusals', query, 1), { message: 'the gateway is closed' });
  fails = false;
  t.deepEqual(await workers.ask('refusals', query, 1), []);
});
