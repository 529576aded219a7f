// The list of refused packets: in any course of packets, rules and changes it says of each device
// what was refused, why, by which rule, how often and when, with one worker and with several.

import test from 'ava';
import { MAX_STAGED_PER_PEER, STAGED_TIME_MS } from '../../../dataplane/constants.ts';
import type { RefusalQuery, SeenRefusal } from '../../../dataplane/path/refusal-list.ts';
import { refusalsAmong } from '../../../dataplane/path/refusal-list.ts';
import type { ReasonName } from '../../../dataplane/reasons.ts';
import { coursesOf, peerAddresses } from '../../support/filter/courses.ts';
import { Scene, STEP_MS } from '../../support/filter/scene.ts';
import type { Described } from '../../support/filter/slow-filter.ts';
import { tcp, udp } from '../../support/dataplane/packets.ts';
import { SEEDED } from '../../support/dataplane/simulation.ts';

const EVERYTHING: RefusalQuery = { device: null, scope: null, reason: null };

/** A refusal as the model of the test knows it. */
interface Modelled {
  count: number;
  firstMs: number;
  latestMs: number;
  rule: string | null;
}

function keyOf(scene: Scene, { from, to, ...packet }: Described, reason: string): string {
  const isSent = from !== 'tun';
  const device = scene.clients[Number(isSent ? from : to)]!.key;
  const { source, destination, protocol, destinationPort, quotes } = packet;
  const hasPort = (protocol === 6 || protocol === 17) && quotes === null;
  const port = hasPort ? destinationPort : null;
  const number = quotes === null ? protocol : source.includes(':') ? 58 : 1;
  return [device, isSent, source, destination, number, port, reason].join(' ');
}

function keyOfSeen(one: SeenRefusal): string {
  const { device, isSent, source, destination, protocol, port, reason } = one;
  return [device, isSent, source, destination, protocol, port, reason].join(' ');
}

/** Whether a packet of a step came at that time: it may have waited for a handshake. */
function isInStep(ms: number, beganMs: number): boolean {
  return ms >= beganMs && ms < beganMs + STEP_MS;
}

for (const workers of [1, 2, 5])
  test(`${workers} workers: every refusal is listed, with its rule`, async (t) => {
    let compared = 0;
    let byRule = 0;
    for (const [run, steps] of coursesOf(40).entries()) {
      const scene = new Scene(workers, workers);
      const model = new Map<string, Modelled>();
      const sent: { packet: Described; rule: Promise<string | null> }[] = [];
      scene.onSend = (packet, bytes) => {
        const from = packet.from === 'tun' ? null : scene.clients[packet.from]!.key;
        const explained = scene.gateway.ask('explain', { from, packet: bytes });
        sent.push({ packet, rule: explained.then((found) => found?.decision?.rule ?? null) });
      };
      for (const step of steps) {
        const before = scene.counts().drops;
        scene.take(step);
        if (step.type === 'restart')
          for (const key of model.keys())
            if (key.startsWith(scene.clients[0]!.key)) model.delete(key);
        const [one] = sent.splice(0);
        const after = scene.counts().drops;
        const reason = Object.keys(after).find((name) => after[name] !== (before[name] ?? 0));
        if (one === undefined || reason === undefined) continue;
        const atMs = scene.world.wallMs - STEP_MS;
        const key = keyOf(scene, one.packet, reason);
        const known = model.get(key) ?? { count: 0, firstMs: atMs };
        const rule = reason === 'rule_drop' ? await one.rule : null;
        if (rule !== null) byRule++;
        model.set(key, { ...known, count: known.count + 1, latestMs: atMs, rule });
      }
      const listed = await scene.gateway.ask('refusals', EVERYTHING, 10_000);
      const where = `seed ${SEEDED.seed}, run ${run}`;
      t.deepEqual(listed.map(keyOfSeen).toSorted(), [...model.keys()].toSorted(), where);
      for (const one of listed) {
        const wanted = model.get(keyOfSeen(one))!;
        t.like(one, { count: wanted.count, rule: wanted.rule }, where);
        t.true(isInStep(one.firstMs, wanted.firstMs), where);
        t.true(isInStep(one.latestMs, wanted.latestMs), where);
      }
      const times = listed.map(({ latestMs }) => latestMs);
      t.deepEqual(
        times,
        times.toSorted((a, b) => b - a),
        'the latest one is first',
      );
      const few = await scene.gateway.ask('refusals', EVERYTHING, 3);
      t.deepEqual(few, listed.slice(0, 3));
      compared += listed.length;
    }
    t.log({ compared, byRule });
    t.true(compared > 50 && byRule > 10);
  });

const toHost = (from: number, destination: string, port: number): Uint8Array =>
  tcp({ source: peerAddresses[4][from]!, destination, destinationPort: port, flags: 2 });

/** A scene in which the devices of all owners may not reach 192.0.2.0/24. */
function refusing(workers: number): Scene {
  const scene = new Scene(workers, 1);
  for (const scope of ['0', '1'])
    scene.take({ type: 'rules', scope, rules: [['drop', '192.0.2.0/24', undefined]] });
  return scene;
}

for (const workers of [1, 2])
  test(`workers: ${workers}: each filter leaves what it says`, async (t) => {
    const scene = refusing(workers);
    const [alice, bob] = scene.clients.map(({ key }) => key);
    scene.clients[0]!.send(toHost(0, '192.0.2.1', 22));
    scene.clients[1]!.send(toHost(1, '192.0.2.1', 22));
    scene.clients[1]!.send(toHost(1, '127.0.0.1', 22));
    scene.world.run(100);
    const ask = async (query: Partial<RefusalQuery>): Promise<string[]> =>
      (await scene.gateway.ask('refusals', { ...EVERYTHING, ...query }, 100))
        .map(({ device, reason }) => `${device} ${reason}`)
        .toSorted();
    const reserved: ReasonName = 'inner_destination_reserved';
    const three = [`${alice} rule_drop`, `${bob} rule_drop`, `${bob} ${reserved}`].toSorted();
    t.deepEqual(await ask({}), three);
    t.deepEqual(await ask({ device: alice! }), [`${alice} rule_drop`]);
    t.deepEqual(
      await ask({ scope: '1' }),
      three.filter((line) => line.startsWith(bob!)),
    );
    t.deepEqual(await ask({ reason: reserved }), [`${bob} ${reserved}`]);
    t.deepEqual(await ask({ device: alice!, scope: '1' }), []);
    t.deepEqual(await ask({ device: 'nobody' }), []);
    scene.setServed(1, false);
    t.deepEqual(await ask({}), [`${alice} rule_drop`], 'what is gone is forgotten');
  });

test('a packet that cannot be sent to its device is listed too', async (t) => {
  const scene = new Scene(1, 1);
  const [alice, bob] = scene.clients.map(({ key }) => key);
  // Another gateway has made a handshake with it.
  scene.gateway.release(new Map([[bob!, scene.world.wallMs + 1]]));
  const [source, destination] = peerAddresses[4] as [string, string];
  scene.clients[0]!.send(udp({ source, destination, destinationPort: 9 }));
  scene.world.run(100);
  scene.gateway.send(udp({ source: '192.0.2.1', destination, destinationPort: 9 }));
  const listed = await scene.gateway.ask('refusals', EVERYTHING, 100);
  t.deepEqual(
    listed.map(({ device, isSent, source, reason }) => [device, isSent, source, reason]),
    [
      [bob, false, '192.0.2.1', 'peer_elsewhere'],
      [alice, true, source, 'peer_elsewhere'],
    ],
  );
});

for (const workers of [1, 2, 5])
  test(`${workers} workers: what waited in vain for a handshake is listed`, async (t) => {
    const scene = new Scene(workers, 1);
    const [alice, bob] = scene.clients.map(({ key }) => key);
    const [source, destination] = peerAddresses[4] as [string, string];
    // Bob is silent for longer than his keys live, and answers no handshake.
    scene.world.loses = ({ from }) => from === scene.clients[1]!.endpoint;
    scene.world.run(200_000);
    scene.clients[0]!.connect();
    scene.world.run(100);
    const [fromAlice, fromHost] = [MAX_STAGED_PER_PEER + 2, 3];
    for (let i = 0; i < fromAlice; i++)
      scene.clients[0]!.send(udp({ source, destination, destinationPort: 9 }));
    scene.world.run(100);
    for (let i = 0; i < fromHost; i++)
      scene.gateway.send(udp({ source: '192.0.2.1', destination, destinationPort: 53 }));
    scene.world.run(STAGED_TIME_MS + 20_000);
    const listed = await scene.gateway.ask('refusals', { ...EVERYTHING, device: null }, 100);
    const lines = listed.map(({ device, isSent, source: from, port, reason }) =>
      [device, isSent, from, port, reason].join(' '),
    );
    const counts = listed.map(({ count, rule }) => [count, rule]);
    const wanted = [
      [alice, true, source, 9, 'staged_expired'],
      [alice, true, source, 9, 'staged_overflow'],
      [bob, false, '192.0.2.1', 53, 'staged_expired'],
    ].map((parts) => parts.join(' '));
    t.deepEqual(lines.toSorted(), wanted.toSorted());
    const drops = scene.counts().drops;
    t.is(drops['staged_overflow'], fromAlice + fromHost - MAX_STAGED_PER_PEER);
    t.is(drops['staged_expired'], MAX_STAGED_PER_PEER);
    const sum = counts.reduce((all, [count]) => all + Number(count), 0);
    t.is(sum, fromAlice + fromHost);
    t.true(counts.every(([, rule]) => rule === null));
  });

test('what waited for a device that is removed is listed nowhere', async (t) => {
  const scene = new Scene(1, 1);
  const [source, destination] = peerAddresses[4] as [string, string];
  scene.world.loses = ({ from }) => from === scene.clients[1]!.endpoint;
  scene.world.run(200_000);
  scene.clients[0]!.connect();
  scene.world.run(100);
  scene.clients[0]!.send(udp({ source, destination, destinationPort: 9 }));
  scene.world.run(100);
  // Who comes next has its place in all tables.
  scene.setServed(0, false);
  scene.setServed(0, true);
  scene.world.run(STAGED_TIME_MS + 20_000);
  t.deepEqual(await scene.gateway.ask('refusals', EVERYTHING, 100), []);
});

test('a packet that could not be read has no addresses', async (t) => {
  const scene = new Scene(1, 1);
  const packet = udp({ source: peerAddresses[4][0]!, destination: '192.0.2.1' });
  // A header that is longer than the packet.
  packet[2] = 0xff;
  scene.clients[0]!.send(packet);
  scene.world.run(100);
  const [one] = await scene.gateway.ask('refusals', EVERYTHING, 100);
  const unknown = { source: null, destination: null, protocol: null, port: null };
  t.like(one, { reason: 'inner_malformed', isSent: true, count: 1, ...unknown });
});

test('what two workers refused of one kind is one entry', async (t) => {
  const one: SeenRefusal = {
    device: 'a',
    isSent: true,
    source: '10.0.0.2',
    destination: '10.0.0.3',
    protocol: 17,
    port: 53,
    reason: 'rule_drop',
    rule: 'x',
    count: 2,
    firstMs: 10,
    latestMs: 30,
  };
  const other = { ...one, rule: 'y', count: 3, firstMs: 20, latestMs: 40 };
  const parts = [[one], [other, { ...other, port: 54, latestMs: 35 }]];
  const ask = async (worker: number): Promise<{ found: SeenRefusal[]; next: null } | null> =>
    parts[worker] === undefined ? null : { found: parts[worker], next: null };
  t.deepEqual(await refusalsAmong(3, ask, 10), [
    { ...one, rule: 'y', count: 5, firstMs: 10, latestMs: 40 },
    { ...other, port: 54, latestMs: 35 },
  ]);
});
