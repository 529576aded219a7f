// What a change would do is what it then does: before each change of random courses the gateway is
// asked, then the change is made. Exactly those flows are gone, and exactly those refused packets
// are let pass now. Asking changes nothing.
//
// COURSES=1000 tries so many courses in place of a few.

import process from 'node:process';
import test from 'ava';
import type { Amendment } from '../../../dataplane/contract.ts';
import type { LiveFlow } from '../../../dataplane/path/flow-list.ts';
import type { SeenRefusal } from '../../../dataplane/path/refusal-list.ts';
import { coursesOf, peerAddresses, type Step } from '../../support/filter/courses.ts';
import { Scene } from '../../support/filter/scene.ts';
import { echoRequest, flagsOf, ip, tcp, udp } from '../../support/dataplane/packets.ts';
import { rule } from '../../support/dataplane/simulation.ts';
import { copyOf, differences, SCRATCH, StateReader } from '../../support/dataplane/whole-state.ts';

const COURSES = Number(process.env['COURSES'] ?? 15);
const EVERYTHING = { device: null, scope: null, destination: null, rule: null };
/** More than there can be. */
const ALL = 10_000;

/** What a change would do, asked of all workers at one moment. */
interface Effect {
  readonly count: number;
  readonly ended: readonly string[];
  readonly devices: ReadonlySet<string>;
  readonly passed: readonly SeenRefusal[];
}

/** The parts of a worker's answer. */
function* partsOf<Part extends { readonly next: number | null }>(
  scene: Scene,
  ask: (worker: number, from: number) => Part,
): Generator<Part> {
  for (const worker of scene.gateway.workers.keys())
    for (let from: number | null = 1; from !== null;) {
      const part: Part = ask(worker, from);
      yield part;
      from = part.next;
    }
}

function effectOf(scene: Scene, amendment: Amendment): Effect {
  const { now, wallMs } = scene.world;
  const tried = scene.gateway.trial(amendment);
  const pipelineOf = (worker: number) => scene.gateway.workers[worker]!.pipeline;
  const ended: string[] = [];
  const devices = new Set<string>();
  let count = 0;
  for (const part of partsOf(scene, (worker, from) =>
    pipelineOf(worker).endedFlows(tried(), from, ALL, now, wallMs),
  )) {
    count += part.count;
    ended.push(...part.found.map(lineOf));
    for (const device of part.devices) devices.add(device);
  }
  const passed = [
    ...partsOf(scene, (worker, from) =>
      pipelineOf(worker).passedRefusals(tried(), from, now, wallMs),
    ),
  ].flatMap(({ found }) => found);
  return { count, ended: ended.toSorted(), devices, passed };
}

function flowsOf(scene: Scene): LiveFlow[] {
  const { now, wallMs } = scene.world;
  return [
    ...partsOf(scene, (worker, from) =>
      scene.gateway.workers[worker]!.pipeline.flows(EVERYTHING, from, ALL, now, wallMs),
    ),
  ].flatMap(({ found }) => found);
}

/** ICMP and GRE; a later fragment may name other protocols, also those of IPv6 headers. */
const WITHOUT_PORTS = [1, 47, 58];

/** Refusals of packets that devices sent and rules refused, of which the whole packet is known. */
function refusedByRules(scene: Scene): SeenRefusal[] {
  const { now, wallMs } = scene.world;
  const query = { device: null, scope: null, reason: null };
  return [
    ...partsOf(scene, (worker, from) =>
      scene.gateway.workers[worker]!.pipeline.refusals(query, from, now, wallMs),
    ),
  ]
    .flatMap(({ found }) => found)
    .filter(({ isSent, reason }) => isSent && /^(?:rule|default)_drop$/.test(reason))
    .filter(({ protocol, port }) => port !== null || WITHOUT_PORTS.includes(protocol!));
}

/** What a flow is, whatever decided about it. */
function lineOf({ by: _by, rule: _rule, ...flow }: LiveFlow): string {
  return JSON.stringify(flow);
}

function refusalLine({ device, source, destination, protocol, port }: SeenRefusal): string {
  return [device, source, destination, protocol, port].join(' ');
}

/** The packet that was refused, as one that opens a flow. */
function packetOf({ source, destination, protocol, port }: SeenRefusal): Uint8Array {
  const ends = { source: source!, destination: destination! };
  const ports = { sourcePort: 49_999, destinationPort: port ?? 0 };
  if (protocol === 6) return tcp({ ...ends, ...ports, flags: flagsOf('S') });
  if (protocol === 17) return udp({ ...ends, ...ports });
  if (protocol !== 47) return echoRequest(source!, destination!);
  return ip({ ...ends, protocol, payload: new Uint8Array(16) });
}

/** Whether the rules of now refuse a packet; null: a flow decides, of which a list knows nothing. */
async function isRefused(scene: Scene, refusal: SeenRefusal): Promise<boolean | null> {
  const question = { from: refusal.device, packet: packetOf(refusal) };
  const explanation = await scene.gateway.ask('explain', question);
  if (explanation === null || explanation.decision?.flow === 'continues') return null;
  return /^(?:rule|default)_drop$/.test(explanation.reason);
}

/** The steps that change what is in force, once each. */
function isChange({ type }: Step): boolean {
  return ['rules', 'default', 'move'].includes(type);
}

for (const workers of [1, 2, 5])
  test(`${workers} workers: what a change would do is what it does`, async (t) => {
    const scene = new Scene(workers, workers);
    const met = { changes: 0, ended: 0, stayed: 0, passed: 0, refused: 0 };
    for (const [run, steps] of coursesOf(COURSES).entries())
      for (const [i, step] of steps.entries()) {
        if (!isChange(step)) {
          let effect: Effect | null = null;
          let before: LiveFlow[] = [];
          // A device or an address that goes: the first change of the step removes it.
          scene.onChange = (amendment) => {
            if (effect !== null) return;
            before = flowsOf(scene);
            effect = effectOf(scene, amendment);
            const gone = [...amendment.peers].find(([, config]) => config === null)?.[0];
            if (gone === undefined) return;
            t.is(effect.count, before.filter((one) => isOf(one, gone)).length);
          };
          scene.take(step);
          continue;
        }
        let effect: Effect | null = null;
        scene.onChange = (amendment) => (effect = effectOf(scene, amendment));
        const before = flowsOf(scene).map(lineOf);
        const refusals = refusedByRules(scene);
        const refused = await Promise.all(refusals.map((one) => isRefused(scene, one)));
        scene.begin(step);
        const after = new Set(flowsOf(scene).map(lineOf));
        const { count, ended, devices, passed } = effect as unknown as Effect;
        const where = `course ${run}, step ${i} ${JSON.stringify(step)}`;
        const gone = before.filter((line) => !after.has(line));
        t.deepEqual(ended, gone.toSorted(), where);
        t.is(count, gone.length, where);
        t.is(devices.size > 0, count > 0, where);
        const passing = new Set(passed.map(refusalLine));
        for (const [at, refusal] of refusals.entries()) {
          const stillRefused = await isRefused(scene, refusal);
          if (stillRefused === null || refused[at] === null) continue;
          const passes = refused[at] === true && !stillRefused;
          t.is(passing.has(refusalLine(refusal)), passes, where);
          met[passes ? 'passed' : 'refused']++;
        }
        met.changes++;
        met.ended += count;
        met.stayed += before.length - count;
        scene.world.run(100);
      }
    t.log(met);
    for (const [name, count] of Object.entries(met)) t.true(count > COURSES / 4, name);
  });

function isOf({ opener, target }: LiveFlow, key: string): boolean {
  return opener === key || target === key;
}

test('all are counted and devices named, of which only some are listed', async (t) => {
  const scene = new Scene(2, 1);
  const [alice, bob] = scene.clients.map(({ key }) => key);
  for (let port = 1; port <= 300; port++)
    scene.clients[0]!.send(to('192.0.2.1', peerAddresses[4][0]!, port));
  scene.clients[1]!.send(to('192.0.2.2', peerAddresses[4][1]!, 1));
  scene.world.run(100);
  const everything = rulesTo('0.0.0.0/0');
  const effect = await scene.gateway.ask('effectOf', everything, 5);
  t.is(effect.ended.count, 301);
  t.is(effect.ended.found.length, 5);
  t.deepEqual(new Set(effect.ended.devices), new Set([alice, bob]));
  const one = await scene.gateway.ask('effectOf', rulesTo('192.0.2.2'), 5);
  t.is(one.ended.count, 1);
  t.like(one.ended.found[0], { opener: bob!, destination: '192.0.2.2', rule: null, by: 'default' });
  const none = await scene.gateway.ask('effectOf', rulesTo('192.0.2.3'), 5);
  t.deepEqual(none, {
    ended: { count: 0, found: [], devices: [] },
    passed: { count: 0, found: [] },
  });
});

// Not beside other tests: engines of worlds share the batches, which are compared too.
test.serial(
  'asking changes nothing, also where it is asked in the middle of a course',
  async (t) => {
    const reader = new StateReader();
    t.teardown(() => reader.close());
    const scene = new Scene(2, 2);
    let compared = 0;
    for (const steps of coursesOf(4))
      for (const [i, step] of steps.entries()) {
        scene.take(step);
        if (i % 20 !== 0) continue;
        // A turn begins, so that all have the time of now.
        scene.gateway.release(new Map());
        const state = (): ReturnType<StateReader['read']> =>
          reader.read(
            scene.gateway.workers.map(({ pipeline }) => pipeline),
            SCRATCH,
          );
        const changes = [
          rulesTo('0.0.0.0/0'),
          { peers: new Map(scene.clients.map(({ key }) => [key, null])), rules: new Map() },
        ];
        const ask = () =>
          Promise.all(changes.map((one) => scene.gateway.ask('effectOf', one, 100)));
        // The first list notes how the clocks differ.
        const first = await ask();
        const before = copyOf(state());
        t.deepEqual(await ask(), first);
        t.deepEqual(differences(before, state()), []);
        compared++;
      }
    t.true(compared >= 8);
  },
);

/** A rule that drops what goes to a network, for everyone. */
function rulesTo(network: string): Amendment {
  return {
    peers: new Map(),
    rules: new Map([['', new Map([['x', [rule('x', 'drop', network)]]])]]),
  };
}

function to(destination: string, source: string, sourcePort: number): Uint8Array {
  return udp({ source, destination, sourcePort, destinationPort: 53 });
}
