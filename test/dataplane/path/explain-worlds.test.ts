// What is explained of a packet is what becomes of it, in any world: rules, flows, sessions that live,
// are over or at another gateway, devices that are not served, their MTUs, a database that is away.
// Each world is asked about one packet; then that very packet is sent. Asking changes nothing.
//
// WORLDS=10000 tries so many worlds in place of a few.

import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import type { Explanation, Question } from '../../../dataplane/path/explain.ts';
import { askedPacket } from '../../../dataplane/wire/asked-packet.ts';
import { ip, udp } from '../../../dataplane/wire/packets.ts';
import { anyStep, bytesOf, hosts, peerAddresses, type Step } from '../../support/filter/courses.ts';
import { Scene } from '../../support/filter/scene.ts';
import { chooseAmong, SEEDED, seededRandom } from '../../support/dataplane/simulation.ts';
import { copyOf, differences, SCRATCH, StateReader } from '../../support/dataplane/whole-state.ts';

const WORLDS = Number(process.env['WORLDS'] ?? 150);
/** Steps before the question: packets, rules, waits. */
const STEPS = 12;
const WORKERS = [1, 2, 5];
/** Every so many worlds the whole state of the gateway is compared. */
const COMPARED_EVERY = 60;
/** A session is over after 180 s; nobody hears of the gateway meanwhile. */
const SESSION_OVER_MS = 200_000;
/** A packet of a device takes 5 ms to the gateway; a handshake with another one takes 10 more. */
const AT_ONCE_MS = 9;
const MTUS = [1_280, 1_300, 1_420];

/** A packet, and who sends it: a device, or a host. */
interface Asked {
  readonly from: number | 'tun';
  readonly bytes: Uint8Array;
}

/** Draws. */
class Chance {
  readonly #random: ReturnType<typeof seededRandom>;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  of<T>(all: readonly T[]): T {
    return all[chooseAmong(this.#random, all.length)]!;
  }

  /** True once in so many times. */
  once(times: number): boolean {
    return chooseAmong(this.#random, times) === 0;
  }
}

const RANGES = ['0.0.0.0/0', '192.0.2.0/24', '192.0.2.1', '10.0.0.0/24', '10.0.0.3', '::/0'];

/** Where packets may go and come from: devices, hosts, nobody, and where nothing may go. */
const PLACES = {
  4: [...peerAddresses[4], ...hosts[4], '10.0.0.9', '127.0.0.1', '169.254.169.254', '0.0.0.1'],
  6: [...peerAddresses[6], ...hosts[6], 'fd00::9', '::1', 'fe80::1', 'ff02::1'],
};

/** Makes rules, of one device or of all, and another default action now and then. */
function makeRules(scene: Scene, chance: Chance): void {
  for (const scope of ['', '0', '1', '2']) {
    if (chance.once(2)) continue;
    const rules = [1, 2].map(() => {
      const ports = chance.of([undefined, undefined, { type: 'udp' as const, first: 53 }]);
      return [chance.of(['accept', 'drop'] as const), chance.of(RANGES), ports] as const;
    });
    scene.take({ type: 'rules', scope, rules });
  }
  if (chance.once(4)) scene.take({ type: 'default', action: 'drop' });
}

/** Changes devices: who is served, where they are, what they take. */
function turnSwitches(scene: Scene, chance: Chance): void {
  for (const i of [0, 1, 2]) {
    if (chance.once(3)) scene.configure(i, { mtu: chance.of(MTUS) });
    if (chance.once(8)) scene.addAgain(i);
    if (chance.once(8))
      scene.gateway.release(new Map([[scene.clients[i]!.key, scene.world.wallMs + 1]]));
  }
  if (chance.once(6)) scene.world.run(SESSION_OVER_MS);
  if (chance.once(10)) scene.setServed(chance.of([0, 1, 2]), false);
  if (chance.once(25)) {
    const nothing = { removed: [], updated: [], added: [], scopes: [] };
    scene.gateway.change({ ...nothing, isClosed: true });
  }
}

/** A packet to ask about: of a step, or one of any size, from and to anywhere. */
function drawPacket(scene: Scene, step: Step, chance: Chance): Asked {
  const described = scene.packetOf(step);
  if (described !== null && chance.once(2))
    return { from: described.from, bytes: bytesOf(described) };
  const family = chance.of([4, 4, 6] as const);
  const from = chance.of([0, 1, 2, 'tun'] as const);
  const own = from === 'tun' ? chance.of(hosts[family]) : peerAddresses[family][from]!;
  const source = chance.once(8) ? chance.of(PLACES[family]) : own;
  const destination = chance.of(from === 'tun' ? peerAddresses[family] : PLACES[family]);
  const ends = { source, destination };
  if (chance.once(8)) return { from, bytes: udp({ ...ends, hopLimit: 1 }) };
  if (chance.once(12))
    return { from, bytes: ip({ ...ends, protocol: 6, payload: new Uint8Array(9) }) };
  const ports = { sourcePort: chance.of([40, 41]), destinationPort: chance.of([53, 80]) };
  const size = chance.of([undefined, 1_280, 1_281, 1_300, 1_301, 1_420]);
  const protocol = chance.of(['tcp', 'udp', 'icmp'] as const);
  const begins = chance.once(2);
  const sized = size === undefined ? {} : { size };
  return { from, bytes: askedPacket({ ...ends, ...ports, protocol, begins, ...sized }) };
}

function growth(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): Record<string, number> {
  const grown = Object.entries(after).map(([name, n]) => [name, n - (before[name] ?? 0)] as const);
  return Object.fromEntries(grown.filter(([, n]) => n !== 0));
}

/** Whether the gateway sends a packet to a device without a handshake before. */
function isSentAtOnce({ world, gateway, clients }: Scene, key: string, sinceMs: number): boolean {
  const { endpoint } = clients.find((client) => client.key === key)!;
  const data = world.sent(4, gateway).filter(({ to }) => to.port === endpoint.port);
  return data.some(
    ({ at, bytes }) => at >= sinceMs && at <= sinceMs + AT_ONCE_MS && bytes.length > 32,
  );
}

function questionOf(scene: Scene, { from, bytes }: Asked): Question {
  return { from: from === 'tun' ? null : scene.clients[from]!.key, packet: bytes };
}

/** Asks, sends, compares; what was explained, null where nobody could. */
async function judge(
  t: ExecutionContext,
  scene: Scene,
  { from, bytes }: Asked,
  where: string,
): Promise<Explanation | null> {
  scene.arrivals();
  const before = scene.counts();
  const explanation = await scene.gateway.ask('explain', questionOf(scene, { from, bytes }));
  const sentMs = scene.world.now;
  if (from === 'tun') scene.gateway.send(bytes);
  else scene.clients[from]!.send(bytes);
  scene.world.run(100);
  const after = scene.counts();
  const hits = Object.keys(growth(before.hits, after.hits));
  const drops = growth(before.drops, after.drops);
  const places = Object.entries(scene.arrivals()).filter(([, all]) => all.length > 0);
  if (explanation === null) {
    t.deepEqual([hits, places], [[], []], where);
    return null;
  }
  const { reason, decision, place, to, waitsFor } = explanation;
  t.deepEqual(drops, reason === 'none' ? {} : { [reason]: 1 }, where);
  // An answer of the gateway comes back to the sender, an error about a packet too.
  const isNobody = from === 'tun' && ['no_peer', 'peer_no_endpoint'].includes(reason);
  const isAnswered = place === 'sender' || reason === 'packet_too_big' || isNobody;
  if (reason !== 'none' && !isAnswered) t.deepEqual(places, [], where);
  if (reason === 'none') {
    const target =
      place === 'tun'
        ? 'tun'
        : place === 'sender'
          ? String(from)
          : String(scene.clients.findIndex(({ key }) => key === to));
    t.deepEqual(
      places.map(([name]) => name),
      [target],
      where,
    );
  }
  const isStaged = place === 'device' && !isSentAtOnce(scene, to!, sentMs);
  t.deepEqual(waitsFor, isStaged ? ['receiver'] : [], where);
  // Where rules of both ends were asked, the one that decided is not known.
  if (decision === null || (decision.by === 'rule' && decision.rule === null)) return explanation;
  const wanted = decision.rule === null ? [] : [decision.rule];
  // Answers are not counted for a rule, nor what rules let pass and something else refuses.
  const isCounted =
    decision.flow !== 'continues' && ['none', 'rule_drop', 'default_drop'].includes(reason);
  t.deepEqual(hits, isCounted || hits.length > 0 ? wanted : [], where);
  return explanation;
}

/** Asks, and compares the whole state of the gateway before and after. */
async function judgeUnchanged(
  t: ExecutionContext,
  scene: Scene,
  asked: Asked,
  where: string,
): Promise<void> {
  // It holds on to all that it has read until it is closed.
  const reader = new StateReader();
  const pipelines = scene.gateway.workers.map(({ pipeline }) => pipeline);
  // A turn begins, so that all have the time of now.
  scene.gateway.release(new Map());
  const before = copyOf(reader.read(pipelines, SCRATCH));
  await scene.gateway.ask('explain', questionOf(scene, asked));
  const after = reader.read(pipelines, SCRATCH);
  reader.close();
  t.deepEqual(differences(before, after), [], `${where}: asking changed something`);
}

test('in any world, what is explained is what becomes of the packet', async (t) => {
  t.timeout(3_600_000);
  const courses = fc.sample(fc.array(anyStep, { minLength: STEPS + 1, maxLength: STEPS + 1 }), {
    ...SEEDED,
    numRuns: WORLDS,
  });
  const met: Record<string, number> = {};
  for (const [n, steps] of courses.entries()) {
    const chance = new Chance(n + 1);
    const scene = new Scene(WORKERS[n % WORKERS.length]!, n + 1);
    for (const step of steps.slice(0, STEPS)) scene.take(step);
    makeRules(scene, chance);
    turnSwitches(scene, chance);
    const asked = drawPacket(scene, steps[STEPS]!, chance);
    // Else it would send by a session of which the gateway knows nothing.
    if (asked.from !== 'tun') scene.connect(asked.from);
    if (n % COMPARED_EVERY === 0) await judgeUnchanged(t, scene, asked, `world ${n}`);
    const where = `world ${n}: ${JSON.stringify({ ...asked, bytes: Buffer.from(asked.bytes).toString('hex').slice(0, 120) })}`;
    const explanation = await judge(t, scene, asked, where);
    const name = explanation === null ? 'not_served' : explanation.reason;
    met[name] = (met[name] ?? 0) + 1;
    if (explanation?.waitsFor.length === 1) met['waits'] = (met['waits'] ?? 0) + 1;
    for (const { engine } of scene.gateway.workers) engine.close();
  }
  t.log(met);
  for (const reason of [
    'none',
    'waits',
    'not_served',
    'rule_drop',
    'default_drop',
    'packet_too_big',
    'peer_no_endpoint',
    'peer_elsewhere',
    'inner_source_not_allowed',
    'inner_destination_reserved',
    'no_peer',
  ])
    t.true((met[reason] ?? 0) > 0, `${reason} was met`);
});
