// A gateway with several workers does what one with a single worker does: whatever devices, hosts and
// administrators do, the same packets arrive at the same places, the same refusals and the same hits
// of rules are counted. Whose turn it is among the workers is drawn from a seed.
//
// COURSES=10000 tries so many courses in place of a few.

import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { TRANSPORT_OVERHEAD_BYTES } from '../../dataplane/constants.ts';
import { anyStep, peerAddresses, type Step } from '../support/filter/courses.ts';
import { Scene } from '../support/filter/scene.ts';
import { DATA, type Flight, type Node, SEEDED } from '../support/dataplane/simulation.ts';
import { udp } from '../support/dataplane/packets.ts';

const COURSES = Number(process.env['COURSES'] ?? 150);
const STEPS = 60;
/** What only several workers refuse: nothing of it may happen here. */
const ONLY_OF_TEAMS = ['ring_full', 'strayed', 'peer_gone'];

const courses = (runs: number): Step[][] =>
  fc.sample(fc.array(anyStep, { minLength: STEPS, maxLength: STEPS }), {
    ...SEEDED,
    numRuns: runs,
  });

/** What differs between a gateway with one worker and one with several; null: nothing. */
function difference(one: Scene, several: Scene, steps: readonly Step[]): string | null {
  for (const [i, step] of steps.entries()) {
    one.take(step);
    several.take(step);
    const [expected, actual] = [one.arrivals(), several.arrivals()].map((all) =>
      JSON.stringify(all),
    );
    if (expected !== actual) return `step ${i} ${JSON.stringify(step)}: ${actual}, not ${expected}`;
  }
  const [expected, actual] = [one.counts(), several.counts()].map((all) => JSON.stringify(all));
  return expected === actual ? null : `counted ${actual}, not ${expected}`;
}

for (const workers of [2, 3, 5])
  test(`${workers} workers do in any course what one worker does`, (t) => {
    const [one, several] = [new Scene(1, 0), new Scene(workers, workers)];
    for (const [run, steps] of courses(COURSES).entries()) {
      const found = difference(one, several, steps);
      if (found !== null) return t.fail(`seed ${SEEDED.seed}, course ${run}: ${found}`);
    }
    const { drops } = several.gateway.sample();
    t.log(drops);
    for (const reason of ONLY_OF_TEAMS) t.is(drops[reason], undefined, reason);
    t.true((drops['rule_drop'] ?? 0) > COURSES);
  });

/** Transport data that a gateway sent, without keepalives. */
function dataFrom({ endpoint }: Node, flights: readonly Flight[]): readonly Flight[] {
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
      if (drops)
        scene.begin({ type: 'rules', scope: '0', rules: [['drop', '0.0.0.0/0', undefined]] });
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
