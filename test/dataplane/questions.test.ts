// Questions to workers: who is asked, who is waited for, and that lists are read one after the
// other. With real workers: gateway.test.ts.

import test from 'ava';
import type { TriedChange } from '../../dataplane/diff.ts';
import { AskedWorkers } from '../../dataplane/questions.ts';
import type { Answer, QuestionCommand } from '../../dataplane/answers.ts';

/** Workers that answer as a test says, and note what they were asked. */
class ScriptedWorkers extends AskedWorkers {
  readonly asked: string[] = [];
  readonly #answer: (command: QuestionCommand, worker: number) => Answer | null;
  readonly #count: number;

  constructor(count: number, answer: (command: QuestionCommand, worker: number) => Answer | null) {
    super();
    this.#count = count;
    this.#answer = answer;
  }

  protected workers(): number {
    return this.#count;
  }

  protected tried(): () => TriedChange {
    return () => ({ peers: [], scopes: [] });
  }

  protected async request(
    worker: number,
    command: (id: number) => QuestionCommand,
    waits: boolean,
  ): Promise<Answer | null> {
    const asked = command(7);
    this.asked.push(`${asked.type} ${worker}${waits ? ' waits' : ''}`);
    await Promise.resolve();
    const report = this.#answer(asked, worker);
    this.asked.push(`answer ${worker}`);
    return report;
  }
}

test('every worker is asked about handshakes, and the receptionist about strangers', async (t) => {
  const workers = new ScriptedWorkers(2, () => null);
  t.is(await workers.diagnose('key'), null);
  t.deepEqual(await workers.unknownSenders(), { keys: [], otherGateway: [] });
  t.deepEqual(
    workers.asked.filter((line) => !line.startsWith('answer')),
    ['diagnose 0 waits', 'diagnose 1 waits', 'unknownSenders 0 waits'],
  );
});

test('a packet that no worker judges is not explained', async (t) => {
  const workers = new ScriptedWorkers(2, (_, id) => ({ type: 'explained', id, explanation: null }));
  t.is(await workers.explain({ from: 'key', packet: new Uint8Array(20) }), null);
});

test('lists do not wait for a worker that starts, and are read one after the other', async (t) => {
  const workers = new ScriptedWorkers(2, () => null);
  const anyone = { device: null, scope: null };
  const lists = [
    workers.flows({ ...anyone, destination: null, rule: null }, 10, null),
    workers.endedFlows({ ...anyone, destination: null, rule: null }, 10, null),
    workers.refusals({ ...anyone, reason: null }, 10),
    workers.effectOf({ peers: new Map(), rules: new Map() }, 10),
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
  t.false(workers.asked.some((line) => line.endsWith('waits')));
});

test('a list that fails does not hold up the next one', async (t) => {
  let fails = true;
  const workers = new ScriptedWorkers(1, () => {
    if (fails) throw new Error('the gateway is closed');
    return null;
  });
  const query = { device: null, scope: null, reason: null };
  await t.throwsAsync(workers.refusals(query, 1), { message: 'the gateway is closed' });
  fails = false;
  t.deepEqual(await workers.refusals(query, 1), []);
});
