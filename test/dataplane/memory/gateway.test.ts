// The gateway in memory is a `Gateway` of the data plane: a change is in force when the call
// returns, and samples say what it did.

import test, { type ExecutionContext } from 'ava';
import { rule, WORKERS } from '../../support/dataplane/simulation.ts';
import { MemoryScene } from './scene.ts';

test('it says what it is', async (t) => {
  const { gateway } = new MemoryScene(t);
  t.deepEqual(gateway.facts, {
    engine: 'typescript',
    listenPort: 51_820,
    workers: WORKERS,
    tun: 'memory',
    way: 'tun',
    tunError: null,
    masquerade: false,
    files: { max: null, connections: 2_048, sockets: 1_024, relayed: 0 },
    connections: null,
    alive: true,
  });
});

/** Keys of a gateway and a device, and the random numbers of the handshake that joins them. */
async function drawn(t: ExecutionContext): Promise<string[]> {
  const scene = new MemoryScene(t);
  const handshake: string[] = [];
  const transmit = scene.network.transmit.bind(scene.network);
  scene.network.transmit = (bytes, from, to) => {
    // Index and ephemeral key of an initiation; indices and ephemeral key of a response.
    const end = [0, 40, 44][bytes[0]!] ?? 0;
    if (end > 0) handshake.push(Buffer.from(bytes.subarray(4, end)).toString('base64'));
    transmit(bytes, from, to);
  };
  const { key } = await scene.addDevice(2);
  t.is(handshake.length, 2);
  return [Buffer.from(scene.gateway.key).toString('base64'), key, ...handshake];
}

test('random numbers come from the seed', async (t) => {
  const first = await drawn(t);
  t.is(new Set(first).size, 4);
  t.deepEqual(await drawn(t), first);
});

test('an amendment is in force when it is answered, and changes nothing else', async (t) => {
  const scene = new MemoryScene(t);
  const { device } = await scene.addDevice(2);
  scene.addHost('192.0.2.80');
  scene.addHost('192.0.2.81');
  await scene.setRules(rule('one', 'drop', '192.0.2.80'));
  const other = [rule('other', 'drop', '192.0.2.81')];
  await scene.gateway.amend({
    peers: new Map(),
    rules: new Map([['', new Map([['other', other]])]]),
  });
  for (const to of ['192.0.2.80', '192.0.2.81'])
    await t.throwsAsync(device.ping(to), { message: /rule_drop: 1/ });
  await scene.gateway.amend({ peers: new Map(), rules: new Map([['', new Map([['one', []]])]]) });
  await device.ping('192.0.2.80');
  await t.throwsAsync(device.ping('192.0.2.81'), { message: /rule_drop: 1/ });
});

test('a sample shows bytes, hits and refusals, each once', async (t) => {
  const scene = new MemoryScene(t);
  const { device, key } = await scene.addDevice(2);
  await scene.setRules(rule('no', 'drop', '192.0.2.80'));
  await device.ping('192.0.2.80').catch(() => undefined);
  const { peers, rules, drops } = await scene.gateway.sample();
  t.is(peers[0]?.publicKey, key);
  // An initiation, a keepalive that confirms, and the ping in 36 bytes, padded to 48.
  t.is(peers[0]?.rxBytes, 148 + 32 + 32 + 48);
  t.is(peers[0]?.txBytes, 92);
  t.like(rules[0], { id: 'no', packets: 1, bytes: 36 });
  t.deepEqual(drops, { rule_drop: 1 });
  const next = await scene.gateway.sample();
  t.deepEqual([next.peers, next.rules, next.drops], [[], [], { rule_drop: 1 }]);
});

test('a device that another gateway heard later is released', async (t) => {
  const scene = new MemoryScene(t);
  const { device, key } = await scene.addDevice(2);
  const { device: other } = await scene.addDevice(3);
  scene.addHost('192.0.2.80');
  await device.ping('192.0.2.80');
  await other.ping('10.0.0.2');
  const { peers } = await scene.gateway.sample();
  const atMs = peers.find(({ publicKey }) => publicKey === key)!.latestHandshakeMs!;
  scene.gateway.release(new Map([[key, atMs]]));
  await other.ping('10.0.0.2');
  scene.gateway.release(new Map([[key, atMs + 1]]));
  await t.throwsAsync(other.ping('10.0.0.2'), { message: /peer_elsewhere: 1/ });
  t.is([...scene.gateway.peers()][0]?.endpoint, null);
});

test('a closed gateway moves nothing, and can be closed again', async (t) => {
  const scene = new MemoryScene(t);
  const { device } = await scene.addDevice(2);
  await scene.gateway.close();
  await scene.gateway.close();
  await t.throwsAsync(device.ping('10.0.0.1'), { message: 'the gateway is closed' });
});
