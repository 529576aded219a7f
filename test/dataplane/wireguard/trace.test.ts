// What a gateway remembers of devices that cannot connect, in virtual time, with one worker and
// with several: every way in which a handshake fails is seen as what it is, and asking changes
// nothing.

import test from 'ava';
import type { Trace } from '../../../dataplane/wireguard/trace.ts';
import { udp } from '../../support/dataplane/packets.ts';
import {
  type Client,
  DATA,
  gatewayAndClients,
  gatewayPeer,
  INITIATION,
  type Node,
  peer,
  RESPONSE,
  type World,
} from '../../support/dataplane/simulation.ts';
import { SEED } from '../../support/dataplane/seed.ts';
import { copyOf, differences, StateReader } from '../../support/dataplane/whole-state.ts';
import { initiationForger } from '../../support/dataplane/forged-messages.ts';

const SECOND = 1_000;
const strange = { address: '203.0.113.66', port: 666 };

interface Scene {
  world: World;
  gateway: Node;
  /** The first client, of the first worker, and the second one, of another worker if there is one. */
  clients: Client[];
}

function scene(workers: number): Scene {
  return gatewayAndClients(2, SEED, { gateway: { workers } });
}

function begin({ world }: Scene, client: Client): void {
  client.tunnel.wallMs = world.wallMs;
  client.sender.initiate(client.peer, false, world.now);
}

async function traceOf({ gateway }: Scene, client: Client): Promise<Trace> {
  const trace = await gateway.ask('diagnose', client.key);
  if (trace === null) throw new Error('it is not served');
  return trace;
}

for (const workers of [1, 2, 5])
  for (const number of [0, 1]) {
    const title = `${workers} workers, client ${number}`;

    test(`${title}: a handshake is answered, then confirmed`, async (t) => {
      const all = scene(workers);
      const client = all.clients[number]!;
      t.like(await traceOf(all, client), { attempts: [], endpoint: null, latestHandshakeMs: null });
      begin(all, client);
      all.world.run(SECOND);
      const trace = await traceOf(all, client);
      t.is(trace.attempts.length, 1);
      const [attempt] = trace.attempts;
      t.like(attempt, { kind: 'answered', endpoint: client.endpoint, count: 1 });
      t.is(attempt!.confirmedAtMs, trace.latestHandshakeMs);
      t.true(attempt!.confirmedAtMs! > attempt!.firstAtMs);
      t.deepEqual(trace.endpoint, client.endpoint);
    });

    test(`${title}: another preshared key is answered and never confirmed`, async (t) => {
      const all = scene(workers);
      const client = all.clients[number]!;
      client.peer.config = { ...client.peer.config, presharedKey: new Uint8Array(32).fill(1) };
      begin(all, client);
      all.world.run(30 * SECOND);
      const { attempts, latestHandshakeMs } = await traceOf(all, client);
      t.is(latestHandshakeMs, null);
      t.is(attempts.length, 1);
      t.like(attempts[0], { kind: 'answered', confirmedAtMs: null });
      t.true(attempts[0]!.count >= 5, `${attempts[0]!.count}`);
    });

    test(`${title}: a way back that is blocked looks the same`, async (t) => {
      const all = scene(workers);
      const client = all.clients[number]!;
      all.world.loses = ({ bytes }) => bytes[0] === RESPONSE;
      begin(all, client);
      all.world.run(12 * SECOND);
      const { attempts } = await traceOf(all, client);
      t.like(attempts[0], { kind: 'answered', confirmedAtMs: null });
      t.true(attempts[0]!.count >= 2);
    });

    test(`${title}: a replayed message is refused, with its time and its source`, async (t) => {
      const all = scene(workers);
      const client = all.clients[number]!;
      begin(all, client);
      all.world.run(SECOND);
      const message = all.world.sent(INITIATION, client)[0]!.bytes;
      for (let i = 0; i < 3; i++) {
        all.gateway.receive(message.slice(), strange);
        all.world.run(SECOND);
      }
      const { attempts } = await traceOf(all, client);
      t.is(attempts.length, 2);
      const [answered, refused] = attempts;
      t.not(answered!.confirmedAtMs, null);
      t.like(refused, { kind: 'refused', reason: 'initiation_replayed', count: 3 });
      t.deepEqual(refused!.endpoint, strange);
      t.is(refused!.datedMs, refused!.latestDatedMs);
    });

    test(`${title}: a clock that was set back is seen`, async (t) => {
      const all = scene(workers);
      const client = all.clients[number]!;
      begin(all, client);
      all.world.run(SECOND);
      all.world.epochMs -= 3_600_000;
      // As a client does that starts again: it has forgotten which times it has used.
      const again = all.world.addClient({
        endpoint: { address: '198.51.100.77', port: 1 },
        privateKey: client.privateKey,
      });
      again.addPeer(gatewayPeer(all.gateway));
      all.world.remove(client);
      begin(all, again);
      all.world.run(SECOND);
      const { attempts } = await traceOf(all, client);
      const refused = attempts.find(({ kind }) => kind === 'refused');
      t.like(refused, { reason: 'initiation_replayed', endpoint: again.endpoint });
      const behindMs = refused!.latestDatedMs! - refused!.datedMs!;
      t.true(Math.abs(behindMs - 3_600_000) < 2_000, `${behindMs}`);
    });

    test(`${title}: what came inside is seen, and with which wrong address`, async (t) => {
      const all = scene(workers);
      const client = all.clients[number]!;
      client.send(udp({ source: '192.168.7.7', destination: '10.0.0.1' }));
      all.world.run(SECOND);
      const before = (await traceOf(all, client)).inside;
      t.is(before.passedAtMs, null);
      t.like(before.wrongSource, { address: '192.168.7.7', count: 1 });
      const right = udp({ source: `10.0.0.${2 + number}`, destination: '10.0.0.1', data: 'hello' });
      client.send(right);
      all.world.run(SECOND);
      const after = (await traceOf(all, client)).inside;
      t.is(after.largest, right.length);
      t.true(after.passedAtMs! > before.wrongSource!.atMs);
    });

    test(`${title}: a packet that is too big for it is seen, with its size`, async (t) => {
      const all = scene(workers);
      const client = all.clients[number]!;
      begin(all, client);
      all.world.run(SECOND);
      const big = udp({
        source: '10.0.0.1',
        destination: `10.0.0.${2 + number}`,
        data: new Uint8Array(1_450),
      });
      all.gateway.send(big, big);
      all.world.run(SECOND);
      const { inside } = await traceOf(all, client);
      t.like(inside.tooBig, { bytes: big.length, count: 2 });
    });

    test(`${title}: a device that does not answer the gateway is seen`, async (t) => {
      const all = scene(workers);
      const client = all.clients[number]!;
      begin(all, client);
      all.world.run(SECOND);
      all.world.loses = ({ from }) => from === client.endpoint;
      for (let i = 0; i < 30; i++) {
        all.gateway.send(udp({ source: '10.0.0.1', destination: `10.0.0.${2 + number}` }));
        all.world.run(SECOND);
      }
      const initiated = (await traceOf(all, client)).attempts.at(-1);
      t.like(initiated, { kind: 'initiated', endpoint: client.endpoint, confirmedAtMs: null });
      t.true(initiated!.count >= 2);
    });

    test(`${title}: a device that is removed leaves nothing to the next one`, async (t) => {
      const all = scene(workers);
      const client = all.clients[number]!;
      begin(all, client);
      all.world.run(SECOND);
      all.gateway.apply([]);
      t.is(await all.gateway.ask('diagnose', client.key), null);
      all.gateway.apply(all.clients.map(({ key }, i) => peer({ key, ipv4: `10.0.0.${2 + i}` })));
      t.like(await traceOf(all, client), { attempts: [], latestHandshakeMs: null });
    });

    test.serial(`${title}: asking changes nothing`, async (t) => {
      const all = scene(workers);
      begin(all, all.clients[number]!);
      all.gateway.receive(initiationForger(new Uint8Array(32).fill(9))(), strange);
      all.world.run(SECOND);
      const reader = new StateReader();
      t.teardown(() => reader.close());
      const pipelines = all.gateway.workers.map(({ pipeline }) => pipeline);
      const before = copyOf(reader.read(pipelines));
      await all.gateway.ask('diagnose', all.clients[number]!.key);
      await all.gateway.ask('unknownSenders');
      t.deepEqual(differences(before, reader.read(pipelines)), []);
    });
  }

for (const workers of [1, 2]) {
  test(`${workers} workers: a key that nobody has is on the list of unknown senders`, async (t) => {
    const all = scene(workers);
    const stranger = all.world.addClient({ endpoint: strange });
    stranger.addPeer(gatewayPeer(all.gateway));
    begin(all, stranger);
    all.world.run(12 * SECOND);
    const { keys, otherGateway } = await all.gateway.ask('unknownSenders');
    t.is(keys.length, 1);
    t.like(keys[0], { publicKey: stranger.key, endpoint: strange });
    t.true(keys[0]!.count >= 2);
    t.deepEqual(otherGateway, []);
    t.is(all.world.sent(DATA).length, 0);
  });

  test(`${workers} workers: who takes the gateway for another one is on the list`, async (t) => {
    const all = scene(workers);
    const [client] = all.clients;
    const other = all.world.addClient({ endpoint: strange, privateKey: client!.privateKey });
    other.addPeer(peer({ key: all.clients[1]!.key, endpoint: all.gateway.endpoint }));
    begin(all, other);
    all.world.run(12 * SECOND);
    const { keys, otherGateway } = await all.gateway.ask('unknownSenders');
    t.deepEqual(keys, []);
    t.is(otherGateway.length, 1);
    t.like(otherGateway[0], { endpoint: strange });
    t.true(otherGateway[0]!.count >= 2);
    t.like(await traceOf(all, client!), { attempts: [] });
  });
}

test('a message that only names a device and is not of it is not held against it', async (t) => {
  const all = scene(1);
  const forge = initiationForger(all.gateway.publicKey);
  for (let i = 0; i < 10; i++) {
    all.gateway.receive(forge(), strange);
    all.world.run(100);
  }
  for (const client of all.clients) t.deepEqual((await traceOf(all, client)).attempts, []);
  t.deepEqual(await all.gateway.ask('unknownSenders'), { keys: [], otherGateway: [] });
});
