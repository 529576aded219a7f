// What is explained of a packet is what then becomes of it: before each packet of random courses the
// gateway is asked, and then the packet is sent. Asking changes nothing.
//
// COURSES=1000 tries so many courses in place of a few.

import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { explainAmong, type Explanation, type Question } from '../../../dataplane/path/explain.ts';
import { coursesOf, peerAddresses, withStaged } from '../../support/filter/courses.ts';
import { Scene } from '../../support/filter/scene.ts';
import type { Described } from '../../support/filter/slow-filter.ts';
import { udp } from '../../support/dataplane/packets.ts';
import { copyOf, differences, SCRATCH, StateReader } from '../../support/dataplane/whole-state.ts';

const COURSES = Number(process.env['COURSES'] ?? 40);
/** Every so many questions the whole state of the gateway is compared. */
const COMPARED_EVERY = 400;

const courses = coursesOf(COURSES).map(withStaged);

/** How much each entry has grown; what has not is left out. */
function growth(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): Record<string, number> {
  const grown = Object.entries(after).map(([name, n]) => [name, n - (before[name] ?? 0)] as const);
  return Object.fromEntries(grown.filter(([, n]) => n !== 0));
}

function questionOf(scene: Scene, { from }: Described, packet: Uint8Array): Question {
  return { from: from === 'tun' ? null : scene.clients[from]!.key, packet };
}

for (const workers of [1, 2, 5])
  test(`${workers} workers: what is explained of a packet is what becomes of it`, async (t) => {
    const scene = new Scene(workers, workers);
    const asked: { packet: Described; explanation: Promise<Explanation | null> }[] = [];
    scene.onSend = (packet, bytes) => {
      const explanation = scene.gateway.ask('explain', questionOf(scene, packet, bytes));
      asked.push({ packet, explanation });
    };
    const met: Record<string, number> = {};
    let countedBefore = 0;
    for (const [run, steps] of courses.entries())
      for (const [i, step] of steps.entries()) {
        const before = scene.counts();
        scene.take(step);
        const after = scene.counts();
        const arrivals = Object.entries(scene.arrivals()).filter(([, all]) => all.length > 0);
        const [question] = asked.splice(0);
        if (question === undefined) continue;
        const explanation = await question.explanation;
        const where = `course ${run}, step ${i} ${JSON.stringify(step)}`;
        if (explanation === null) return t.fail(`${where}: nobody explains it`);
        const { reason, decision, place } = explanation;
        met[reason] = (met[reason] ?? 0) + 1;
        t.deepEqual(
          growth(before.drops, after.drops),
          reason === 'none' ? {} : { [reason]: 1 },
          where,
        );
        t.is(arrivals.length, reason === 'none' ? 1 : 0, where);
        if (reason === 'none') t.is(arrivals[0]![0] === 'tun', place === 'tun', where);
        // The sender's worker may count its rule before the receiver's worker refuses the packet.
        const mayCountTwo = workers > 1 && question.packet.to !== 'tun' && reason !== 'none';
        for (const id of Object.keys(growth(before.hits, after.hits))) {
          const isDecider = decision?.rule === id || decision?.staged === id;
          if (!isDecider && mayCountTwo) countedBefore++;
          else t.true(isDecider, where);
        }
      }
    t.log({ ...met, countedBefore });
    t.true(countedBefore <= COURSES / 100, `${countedBefore} rules were counted before a refusal`);
    for (const reason of ['none', 'rule_drop', 'default_drop'])
      t.true((met[reason] ?? 0) > COURSES / 2, reason);
  });

// Not beside other tests: engines of worlds share the batches, which are compared too.
test.serial('asking changes nothing', async (t: ExecutionContext) => {
  const reader = new StateReader();
  t.teardown(() => reader.close());
  const scene = new Scene(2, 2);
  let asked = 0;
  let compared = 0;
  const questions: Question[] = [];
  scene.onSend = (packet, bytes) => questions.push(questionOf(scene, packet, bytes));
  for (const steps of courses.slice(0, 30))
    for (const step of steps) {
      scene.take(step);
      if (++asked % COMPARED_EVERY !== 0) continue;
      // A turn begins, so that all have the time of now.
      scene.gateway.release(new Map());
      const state = (): ReturnType<StateReader['read']> =>
        reader.read(
          scene.gateway.workers.map(({ pipeline }) => pipeline),
          SCRATCH,
        );
      const before = copyOf(state());
      const first = await Promise.all(questions.map((one) => scene.gateway.ask('explain', one)));
      t.deepEqual(differences(before, state()), []);
      const again = await Promise.all(questions.map((one) => scene.gateway.ask('explain', one)));
      t.deepEqual(again, first);
      compared++;
    }
  t.true(compared >= 4);
});

/** A datagram of the first device. */
const forth = (destination: string): Uint8Array =>
  udp({ source: peerAddresses[4][0]!, destination, sourcePort: 40, destinationPort: 53 });

test('an explanation says who opened the flow, and which rule decided', async (t) => {
  const scene = new Scene(2, 1);
  const [alice, bob] = scene.clients.map(({ key }) => key);
  const ask = (from: string | null, packet: Uint8Array): Promise<Explanation | null> =>
    scene.gateway.ask('explain', { from, packet });
  scene.take({ type: 'rules', scope: '0', rules: [['accept', '192.0.2.0/24', undefined]] });
  t.deepEqual(await ask(alice!, forth('192.0.2.1')), {
    reason: 'none',
    place: 'tun',
    to: null,
    waitsFor: [],
    decision: { by: 'rule', rule: '0', staged: null, flow: 'opens', opener: alice! },
    next: null,
  });
  scene.clients[0]!.send(forth(peerAddresses[4][1]!));
  scene.world.run(100);
  const back = udp({
    source: peerAddresses[4][1]!,
    destination: peerAddresses[4][0]!,
    sourcePort: 53,
    destinationPort: 40,
  });
  t.deepEqual(await ask(bob!, back), {
    reason: 'none',
    place: 'device',
    to: alice!,
    waitsFor: [],
    decision: { by: 'default', rule: null, staged: null, flow: 'continues', opener: alice! },
    next: null,
  });
  t.like(await ask(null, forth('192.0.2.1')), { reason: 'no_peer', decision: null });
  scene.gateway.apply([]);
  t.is(await ask(alice!, forth('192.0.2.1')), null, 'a device that is not served');
});

for (const workers of [1, 2, 5])
  test(`${workers} workers: a packet waits for an end that has no session`, async (t) => {
    const scene = new Scene(workers, 1);
    const [alice, bob] = scene.clients.map(({ key }) => key);
    const [ofAlice, ofBob] = peerAddresses[4] as [string, string];
    const waitsFor = async (from: string | null, source: string, destination: string) =>
      (await scene.gateway.ask('explain', { from, packet: udp({ source, destination }) }))
        ?.waitsFor;
    const table = async (): Promise<unknown[]> => [
      await waitsFor(alice!, ofAlice, '192.0.2.1'),
      await waitsFor(alice!, ofAlice, ofBob),
      await waitsFor(bob!, ofBob, ofAlice),
      await waitsFor(null, '192.0.2.1', ofAlice),
    ];
    t.deepEqual(await table(), [[], [], [], []]);
    // Nobody hears of the gateway until the sessions are over; then bob connects again.
    scene.world.loses = () => true;
    scene.world.run(200_000);
    t.deepEqual(await table(), [
      ['sender'],
      ['sender', 'receiver'],
      ['sender', 'receiver'],
      ['receiver'],
    ]);
    scene.world.loses = () => false;
    scene.connect(1);
    t.deepEqual(await table(), [['sender'], ['sender'], ['receiver'], ['receiver']]);
    scene.take({ type: 'default', action: 'drop' });
    t.deepEqual(await table(), [[], [], [], ['receiver']], 'what is dropped waits for nobody');
  });

test('of two workers, the decision is that of the one whose rules decided', async (t) => {
  const at = (fields: Partial<Explanation>): Explanation => ({
    reason: 'none',
    place: 'device',
    to: 'bob',
    waitsFor: [],
    decision: null,
    next: null,
    ...fields,
  });
  const by = (rule: string): Explanation['decision'] => ({
    by: 'rule',
    rule,
    staged: null,
    flow: 'opens',
    opener: 'alice',
  });
  const ask = (second: Partial<Explanation>): Promise<Explanation | null> =>
    explainAmong(2, async (worker, isHanded) => {
      if (worker === 1) return isHanded ? at({ decision: by('of bob'), ...second }) : null;
      return at({ decision: by('of alice'), next: 1 });
    });
  for (const [reason, rule] of [
    ['none', 'of alice'],
    ['packet_too_big', 'of alice'],
    ['peer_no_endpoint', 'of alice'],
    ['rule_drop', 'of bob'],
    ['default_drop', 'of bob'],
  ] as const)
    t.is((await ask({ reason }))?.decision?.rule, rule, reason);
  t.is((await ask({ reason: 'peer_gone', decision: null }))?.decision?.rule, 'of alice');
});
