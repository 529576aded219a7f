// A gateway with several workers does what one with a single worker does: whatever devices, hosts and
// administrators do, the same packets arrive at the same places, the same refusals and the same hits
// of rules are counted. Whose turn it is among the workers is drawn from a seed.
//
// COURSES=10000 tries so many courses in place of a few.

import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { TRANSPORT_OVERHEAD_BYTES } from '../../dataplane/constants.ts';
import type { PeerConfig, RuleConfig } from '../../dataplane/contract.ts';
import {
  anyStep,
  bytesOf,
  errorOf,
  peerAddresses,
  type Step,
  tailOf,
  turned,
} from '../support/filter/courses.ts';
import type { Described } from '../support/filter/slow-filter.ts';
import { implementations } from '../support/dataplane/native.ts';
import {
  chooseAmong,
  type Client,
  DATA,
  type Flight,
  gatewayPeer,
  GATEWAY_ENDPOINT,
  type Node,
  peer,
  randomBytes,
  rule,
  SEEDED,
  seededRandom,
  World,
} from '../support/dataplane/simulation.ts';
import { udp } from '../support/dataplane/packets.ts';

const COURSES = Number(process.env['COURSES'] ?? 150);
const STEPS = 60;
const [, primitives] = implementations.at(-1)!;
/** What only several workers refuse: nothing of it may happen here. */
const ONLY_OF_TEAMS = ['ring_full', 'strayed', 'peer_gone'];

/** One gateway with three devices, as the courses know them. */
class Scene {
  readonly world: World;
  readonly gateway: Node;
  readonly clients: readonly Client[];
  readonly #peers: PeerConfig[];
  readonly #rules = new Map<string, readonly RuleConfig[]>();
  readonly #seen: Described[] = [];
  readonly #hits = new Map<string, number>();
  #ruleNumber = 0;

  /** `turns`: draws whose turn it is, and whether things that were handed over wait. */
  constructor(workers: number, seed: number, dawdles = false) {
    const turns = seededRandom(seed);
    this.world = new World(7);
    this.gateway = this.world.addNode({
      endpoint: GATEWAY_ENDPOINT,
      privateKey: randomBytes(seededRandom(1_001), 32),
      primitives,
      workers,
      choose: (count) => chooseAmong(turns, count),
      ...(dawdles ? { dawdles: () => chooseAmong(turns, 3) > 0 } : {}),
      flows: 4_096,
    });
    this.clients = [0, 1, 2].map((i) =>
      this.world.addClient({
        endpoint: { address: `198.51.100.${7 + i}`, port: 40_000 + i },
        privateKey: randomBytes(seededRandom(2_000 + i), 32),
        primitives,
      }),
    );
    this.#peers = this.clients.map(({ key }, i) =>
      peer({ key, ipv4: peerAddresses[4][i]!, ipv6: peerAddresses[6][i]!, scope: `${i}` }),
    );
    this.#apply();
    for (const client of this.clients) {
      client.addPeer(gatewayPeer(this.gateway));
      client.connect();
    }
    this.world.run(100);
  }

  #apply(): void {
    this.gateway.apply(this.#peers, Object.fromEntries(this.#rules));
  }

  /** Removes a device, or adds it again; then it connects anew. */
  setServed(i: number, isServed: boolean): void {
    const peers = this.#peers.filter((_, n) => isServed || n !== i);
    this.gateway.apply(peers, Object.fromEntries(this.#rules));
    if (!isServed) return;
    this.clients[i]!.restart();
    this.clients[i]!.connect();
    this.world.run(100);
  }

  /** Takes a step, and waits until all that it causes has happened. */
  take(step: Step): void {
    this.begin(step);
    this.world.run(100);
  }

  /** Takes a step and does not wait. */
  begin(step: Step): void {
    const known = 'about' in step ? this.#seen.at(-1 - step.about) : undefined;
    switch (step.type) {
      case 'packet':
        return this.#send(step.packet);
      case 'again':
        return this.#send(known);
      case 'back':
        return this.#send(known === undefined ? known : turned(known));
      case 'tail':
        if (known?.fragment !== 'first') return;
        return this.#send(tailOf(known, step.offset, step.header));
      case 'error':
        return this.#send(known === undefined ? known : (errorOf(known, step.from) ?? undefined));
      case 'wait':
        return this.world.run(step.ms);
      case 'rules': {
        const rules = step.rules.map(([action, range, ports]) =>
          rule(`${this.#ruleNumber++}`, action, range, ports),
        );
        if (rules.length === 0) this.#rules.delete(step.scope);
        else this.#rules.set(step.scope, rules);
        return this.#apply();
      }
      case 'default': {
        const { action } = step;
        const nothing = { removed: [], updated: [], added: [], scopes: [] };
        return this.gateway.change({ ...nothing, defaultAction: action });
      }
      case 'move':
        this.#peers[step.peer] = { ...this.#peers[step.peer]!, scope: step.scope };
        return this.#apply();
      case 'forget': {
        const config = this.#peers[step.peer]!;
        const lost = step.family === 4 ? { ipv4: null } : { ipv6: null };
        this.#peers[step.peer] = { ...config, ...lost };
        this.#apply();
        this.#peers[step.peer] = config;
        return this.#apply();
      }
      case 'restart':
        this.setServed(0, false);
        return this.setServed(0, true);
    }
  }

  #send(packet: Described | undefined): void {
    if (packet === undefined || (packet.from === 'tun' && packet.to === 'tun')) return;
    this.#seen.push(packet);
    const bytes = bytesOf(packet);
    if (packet.from === 'tun') this.gateway.send(bytes);
    else this.clients[packet.from]!.send(bytes);
  }

  /** What has arrived since the last call: by place, and there in any order. */
  arrivals(): Record<string, string[]> {
    const places = {
      tun: this.gateway,
      0: this.clients[0]!,
      1: this.clients[1]!,
      2: this.clients[2]!,
    };
    return Object.fromEntries(
      Object.entries(places).map(([name, { delivered }]) => [
        name,
        delivered
          .splice(0)
          .map((bytes) => Buffer.from(bytes).toString('hex'))
          .toSorted(),
      ]),
    );
  }

  /** What was refused and what rules were hit, since the beginning. */
  counts(): object {
    const { rules, drops } = this.gateway.sample();
    for (const { id, packets } of rules) this.#hits.set(id, (this.#hits.get(id) ?? 0) + packets);
    const sorted = (all: Iterable<[string, number]>): object =>
      Object.fromEntries([...all].toSorted(([a], [b]) => a.localeCompare(b)));
    return { drops: sorted(Object.entries(drops)), hits: sorted(this.#hits) };
  }
}

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
