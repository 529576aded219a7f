// A gateway with several workers does what one with a single worker does: whatever devices, hosts and
// administrators do, the same packets arrive at the same places, the same refusals and the same hits
// of rules are counted. Whose turn it is among the workers is drawn from a seed.
//
// COURSES=10000 tries so many courses in place of a few.

import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { TRANSPORT_OVERHEAD_BYTES, UDP_FLOW_MS } from '../../dataplane/constants.ts';
import {
  coursesOf,
  peerAddresses,
  type Step,
  STEPS,
  withStaged,
} from '../support/filter/courses.ts';
import { Memories } from '../support/filter/memories.ts';
import { Scene, STEP_MS } from '../support/filter/scene.ts';
import {
  type Client,
  DATA,
  type Flight,
  type Node,
  SEEDED,
} from '../support/dataplane/simulation.ts';
import { udp } from '../support/dataplane/packets.ts';

const COURSES = Number(process.env['COURSES'] ?? 60);
/** What only several workers refuse: nothing of it may happen here. */
const ONLY_OF_TEAMS = ['ring_full', 'strayed', 'peer_gone'];

/**
 * One worker beside several. Courses leave out packets of a flow that the worker of one device has
 * forgotten and that of the other has not: there they differ, as a test below shows.
 */
class Pair {
  readonly one = new Scene(1, 0);
  readonly several: Scene;
  readonly #memories: Memories;
  /** How many packets were left out. */
  leftOut = 0;

  constructor(workers: number) {
    this.several = new Scene(workers, workers);
    this.#memories = new Memories(workers);
  }

  /** Takes a course and says what differs; null: nothing. */
  difference(steps: readonly Step[]): string | null {
    for (const [i, step] of steps.entries()) {
      const found = this.#take(step);
      if (found !== null) return `step ${i} ${JSON.stringify(step)}: ${found}`;
    }
    return differenceOf(this.one.counts(), this.several.counts());
  }

  #take(step: Step): string | null {
    const { one, several } = this;
    const { now, wire } = one.world;
    const packet = one.packetOf(step);
    const isBetween = packet !== null && packet.from !== 'tun' && packet.to !== 'tun';
    if (isBetween && this.#memories.differ(packet, now, now + STEP_MS)) {
      this.leftOut++;
      return null;
    }
    const before = wire.length;
    one.take(step);
    several.take(step);
    this.#memories.change(step);
    const arrivals = one.arrivals();
    const found = differenceOf(arrivals, several.arrivals());
    if (found !== null || !isBetween) return found;
    const [datagram] = dataFrom(one.clients[Number(packet.from)]!, wire.slice(before));
    const passes = this.#memories.judge(packet, datagram!.at + one.world.link.delayMs);
    const hasPassed = arrivals[`${packet.to}`]!.length > 0;
    return passes === hasPassed ? null : `passed: ${hasPassed}, with the slow twin: ${passes}`;
  }
}

function differenceOf(one: object, several: object): string | null {
  const [expected, actual] = [one, several].map((all) => JSON.stringify(all));
  return expected === actual ? null : `${actual}, not ${expected}`;
}

for (const workers of [2, 3, 5])
  test(`${workers} workers do in any course what one worker does`, (t) => {
    const pair = new Pair(workers);
    for (const [run, steps] of coursesOf(COURSES).entries()) {
      const found = pair.difference(run % 2 === 0 ? steps : withStaged(steps));
      if (found !== null) return t.fail(`seed ${SEEDED.seed}, course ${run}: ${found}`);
    }
    const { drops } = pair.several.gateway.sample();
    t.log({ ...drops, leftOut: pair.leftOut });
    for (const reason of ONLY_OF_TEAMS) t.is(drops[reason], undefined, reason);
    t.true((drops['rule_drop'] ?? 0) > COURSES);
    t.true(pair.leftOut < (COURSES * STEPS) / 1_000);
  });

/** Two devices of two workers that exchange datagrams; each call says whether one arrives. */
function exchange({ world, clients }: Scene): { ask: () => boolean; answer: () => boolean } {
  const send = (from: 0 | 1, to: 0 | 1) => (): boolean => {
    const [source, destination] = [peerAddresses[4][from]!, peerAddresses[4][to]!];
    clients[from]!.send(udp({ source, destination, sourcePort: 40, destinationPort: 40 }));
    world.run(STEP_MS);
    return clients[to]!.delivered.splice(0).length === 1;
  };
  return { ask: send(0, 1), answer: send(1, 0) };
}

/** Sends for longer than a worker remembers a flow without a packet; returns what arrived. */
function goOn({ world }: Scene, send: () => boolean): boolean {
  let arrived = false;
  for (let ms = 0; ms <= 2 * UDP_FLOW_MS; ms += UDP_FLOW_MS / 2) {
    arrived ||= send();
    world.run(UDP_FLOW_MS / 2);
  }
  return arrived;
}

// docs/packets.md#workers: a packet that is refused is not handed over, and does not keep its flow in
// the memory of the other worker.
for (const [workers, passes] of [
  [1, true],
  [2, false],
] as const)
  test(`answers go on while their flow is refused, with workers: ${workers}`, (t) => {
    const scene = new Scene(workers, 1);
    const { ask, answer } = exchange(scene);
    scene.begin(dropAll('1'));
    t.deepEqual([ask(), answer()], [true, true], 'who answers needs no rule');
    scene.begin(dropAll('0'));
    t.false(goOn(scene, answer));
    scene.begin({ type: 'rules', scope: '0', rules: [] });
    t.is(answer(), passes, 'where the flow is forgotten, it is no answer');
    t.deepEqual([ask(), answer()], [true, true], 'until it is asked again');
  });

for (const workers of [1, 2])
  test(`a flow is refused while one worker remembers it, with workers: ${workers}`, (t) => {
    const scene = new Scene(workers, 1);
    const { ask, answer } = exchange(scene);
    t.deepEqual([ask(), answer()], [true, true]);
    scene.begin(dropAll('0'));
    t.false(goOn(scene, ask));
    t.false(goOn(scene, answer), 'where it is forgotten, it may be opened the other way');
    t.false(ask());
    scene.begin({ type: 'rules', scope: '0', rules: [] });
    t.deepEqual([answer(), ask()], [true, true]);
  });

/** Transport data that a gateway or a client sent, without keepalives. */
function dataFrom({ endpoint }: Node | Client, flights: readonly Flight[]): readonly Flight[] {
  return flights.filter(
    ({ bytes, from }) =>
      from.port === endpoint.port && bytes[0] === DATA && bytes.length > TRANSPORT_OVERHEAD_BYTES,
  );
}

/** A packet from one device to another, or to the LAN. */
function numbered(from: number, to: string, i: number): Uint8Array {
  const source = peerAddresses[4][from]!;
  return udp({ source, destination: to, sourcePort: 40, destinationPort: 53, data: `${i}` });
}

/** The owner's devices may not send any more, and open no flow. */
function dropAll(scope: string): Step {
  return { type: 'rules', scope, rules: [['drop', '0.0.0.0/0', undefined]] };
}

function dataOf(bytes: Uint8Array): number {
  return Number(new TextDecoder().decode(bytes.subarray(28)));
}

for (const workers of [2, 5])
  test(`${workers} workers: once a change is in force, nothing passes that it forbids`, (t) => {
    const scene = new Scene(workers, 11, true);
    const { world, gateway, clients } = scene;
    let number = 0;
    for (let round = 0; round < 200; round++) {
      const burst = (): void => {
        for (const to of [peerAddresses[4][1]!, peerAddresses[4][2]!, '192.0.2.1'])
          clients[0]!.send(numbered(0, to, number++));
        world.run(5);
      };
      for (let i = 0; i < 5; i++) burst();
      const drops = round % 2 === 0;
      if (drops) scene.begin(dropAll('0'));
      else scene.setServed(0, false);
      // What came out until now, at the TUN or as a datagram, came before the change.
      gateway.delivered.length = 0;
      const datagrams = world.wire.length;
      for (let i = 0; i < 5; i++) burst();
      world.run(100);
      t.deepEqual(gateway.delivered, [], `round ${round}`);
      t.deepEqual(dataFrom(gateway, world.wire.slice(datagrams)), [], `round ${round}`);
      if (drops) scene.begin({ type: 'rules', scope: '0', rules: [] });
      else scene.setServed(0, true);
      world.run(10_000);
    }
    const { drops } = gateway.sample();
    t.log(drops);
    t.true((drops['rule_drop'] ?? 0) > 200);
  });

test('packets of one flow keep their order between workers', (t) => {
  const scene = new Scene(5, 3, true);
  const { world, clients, gateway } = scene;
  const sent: number[] = [];
  for (let i = 0; i < 2_000; i++) {
    clients[0]!.send(numbered(0, peerAddresses[4][1]!, i));
    sent.push(i);
    if (i % 7 === 0) world.run(1);
  }
  world.run(1_000);
  t.deepEqual(clients[1]!.delivered.map(dataOf), sent);
  for (let i = 0; i < 500; i++)
    gateway.send(udp({ source: '192.0.2.1', destination: peerAddresses[4][2]!, data: `${i}` }));
  world.run(1_000);
  t.is(clients[2]!.delivered.length, 500);
});

test('the scene of one worker is what the others are compared with', (t: ExecutionContext) => {
  const scene = new Scene(1, 0);
  t.is(scene.gateway.workers.length, 1);
  t.is(new Scene(5, 0).gateway.workers.length, 5);
});
