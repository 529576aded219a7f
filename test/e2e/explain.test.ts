// What becomes of a packet is explained, and then the packet of a real client is sent: it arrives or
// not, as the explanation said. Each gate that a test can close is closed on purpose.

import test, { type ExecutionContext } from 'ava';
import type { Answer } from '../../lib/observe/explain/fields.ts';
import type { GateName } from '../../lib/observe/explain/gates.ts';
import { WITHOUT_WARM_UP } from '../support/gateway/launcher.ts';
import { Postern, until } from '../support/gateway/postern.ts';
import { NFT } from '../support/network/capture.ts';
import {
  API_ADDRESS,
  buildTopology,
  canPing,
  GATEWAY4,
  GATEWAY4_BOB,
  LAN4,
  LAN4_OTHER,
  type Topology,
} from '../support/network/topology.ts';
import { makeKeyPair } from '../support/network/wireguard-client.ts';
import { enrol, expireDevice, explainPing, type Person, runHere } from './people.ts';

/** The doctor looks at the host again after a minute. */
const DOCTOR_MS = 90_000;

const TUNNEL_MTU = 1_420;
/** The MTU that one device is given. */
const NARROW_MTU = 1_300;
/** Of IPv4 and of an echo request. */
const PING_HEADERS = 28;

interface Scene {
  readonly t: ExecutionContext;
  readonly topology: Topology;
  readonly postern: Postern;
  readonly alice: Person;
}

/** What is said of a ping of Alice. */
function explained({ postern, alice }: Scene, destination: string): Promise<Answer> {
  return explainPing(postern, { device_id: alice.device.id, destination });
}

/** Asks about a ping, sends it, and compares. */
async function judge(
  scene: Scene,
  destination: string,
  wanted: Pick<Answer, 'reason'> & { gate: GateName | null; rule?: string },
): Promise<Answer> {
  const { t, topology } = scene;
  const answer = await explained(scene, destination);
  const refusedAt = answer.gates.find(({ outcome }) => outcome === 'refused')?.code ?? null;
  t.is(answer.reason, wanted.reason);
  t.is(refusedAt, wanted.gate);
  t.is(answer.rule_id, wanted.rule ?? null);
  const arrives = await canPing(topology.alice, destination, 2);
  t.is(arrives, answer.verdict === 'accept', `${destination}: ${answer.text}`);
  return answer;
}

test.serial('what is explained is what happens, gate by gate', async (t) => {
  t.timeout(240_000);
  const topology = await buildTopology('ex');
  t.teardown(() => topology.network.remove());
  const settings = {
    ...WITHOUT_WARM_UP,
    WIREGUARD_TUN: 'required',
    WIREGUARD_MTU: String(TUNNEL_MTU),
    GATEWAY_EGRESS_INTERFACE: 'g1',
  };
  const postern = new Postern(topology.gateway, API_ADDRESS, settings);
  await postern.start();
  t.teardown(() => postern.stop());
  const alice = await enrol(postern, topology.alice, 'alice@example.test', `${GATEWAY4}:51820`);
  const scene = { t, topology, postern, alice };
  await until('alice is connected', () => canPing(topology.alice, LAN4, 1), 20_000);
  const passes = await judge(scene, LAN4, { reason: null, gate: null });
  t.is(passes.flow, 'opens');
  t.is(passes.opener_id, alice.device.id);
  await judgeRules(scene);
  await judgeSwitches(scene);
  await judgeDevices(scene);
  await judgeRoute(scene);
  await judgeHost(scene);
});

async function judgeRules(scene: Scene): Promise<void> {
  const { t, postern, alice } = scene;
  const drop = await postern.create('rule', { action: 'drop', destination: '198.51.100.0/24' });
  await judge(scene, LAN4, { reason: 'rule_drop', gate: 'rules', rule: drop.id });
  const own = { action: 'accept', destination: LAN4, user_id: alice.user.id };
  const accept = await postern.create('rule', own);
  const answer = await judge(scene, LAN4, { reason: null, gate: null, rule: accept.id });
  t.deepEqual(answer.shadowed, [drop.id]);
  await judge(scene, LAN4_OTHER, { reason: 'rule_drop', gate: 'rules', rule: drop.id });
  await postern.remove('rule', drop.id);
  await configure(postern, { default_action: 'drop' });
  await judge(scene, LAN4_OTHER, { reason: 'default_drop', gate: 'rules' });
  await configure(postern, { default_action: 'accept' });
  await postern.remove('rule', accept.id);
}

/** States of the device and its owner; each is undone. */
async function judgeSwitches(scene: Scene): Promise<void> {
  const { postern, alice } = scene;
  const { id } = alice.device;
  await postern.update('device', id, { enabled: false });
  await judge(scene, LAN4, { reason: 'device_off', gate: 'device_on' });
  await postern.update('device', id, { enabled: true });
  await expireDevice(postern, id, new Date(Date.now() + 1_000));
  await until('the device has ended', async () => (await explained(scene, LAN4)).reason !== null);
  await judge(scene, LAN4, { reason: 'device_ended', gate: 'device_current' });
  await postern.update('device', id, { ends_at: null });
  await postern.update('user', 'alice@example.test', { enabled: false });
  await judge(scene, LAN4, { reason: 'owner_disabled', gate: 'owner_enabled' });
  await postern.update('user', 'alice@example.test', { enabled: true });
  await until('alice is connected again', () => canPing(scene.topology.alice, LAN4, 1), 30_000);
}

/** A policy test knows the addresses of the host as an explanation does. */
async function judgeOwnEndpoint({ t, postern, alice }: Scene): Promise<void> {
  const where = { destination: GATEWAY4, protocol: 'udp', port: 51_820 };
  const asked = { device_id: alice.device.id, ...where };
  t.is((await explainPing(postern, asked)).reason, 'inner_own_endpoint');
  const policy_test = { ...asked, name: 'the endpoint', expect: 'drop' };
  const { body } = await postern.call('POST', '/v0/policy_tests', { policy_test });
  t.like(body, { data: { passes: true, reason: 'inner_own_endpoint' } });
}

async function judgeDevices(scene: Scene): Promise<void> {
  const { t, topology, postern } = scene;
  t.is((await explained(scene, '169.254.7.7')).reason, 'inner_destination_reserved');
  await judgeOwnEndpoint(scene);
  await judge(scene, '100.64.0.77', { reason: 'no_peer', gate: 'way' });
  // Bob has a device and has not connected.
  const user = await postern.create('user', { email: 'bob@example.test' });
  const { publicKey: public_key } = makeKeyPair();
  const phone = await postern.create('device', { user_id: user.id, public_key });
  const there = String(phone['ipv4']);
  await judge(scene, there, { reason: 'peer_no_endpoint', gate: 'receiver' });
  const endpoint = `${GATEWAY4_BOB}:51820`;
  const carol = await enrol(postern, topology.bob, 'carol@example.test', endpoint);
  const address = String(carol.device['ipv4']);
  await until('carol is connected', () => canPing(topology.bob, LAN4, 1), 20_000);
  await judge(scene, address, { reason: null, gate: null });
  await judgeSize(scene, carol);
}

/** Packets that just fit the device that they are for, and larger ones. */
async function judgeSize(scene: Scene, carol: Person): Promise<void> {
  const { t, topology, postern, alice } = scene;
  const narrow = { use_default_mtu: false, mtu: NARROW_MTU };
  await postern.update('device', carol.device.id, narrow);
  await topology.lan.ip('route', 'replace', '100.64.0.0/10', 'via', '198.51.100.1');
  for (const { client } of [alice, carol])
    await client.host.ip('link', 'set', client.interfaceName, 'mtu', String(TUNNEL_MTU));
  const to = String(carol.device['ipv4']);
  for (const [host, from] of [
    [topology.alice, { device_id: alice.device.id }],
    [topology.lan, { source: LAN4 }],
  ] as const)
    for (const size of [NARROW_MTU, NARROW_MTU + 1, TUNNEL_MTU]) {
      const answer = await explainPing(postern, { ...from, destination: to, size });
      const says = `${size} bytes from ${JSON.stringify(from)}: ${answer.text}`;
      t.is(answer.reason, size > NARROW_MTU ? 'packet_too_big' : null, says);
      const refusedAt = answer.gates.find(({ outcome }) => outcome === 'refused')?.code;
      t.is(refusedAt, size > NARROW_MTU ? 'size' : undefined, says);
      // Else the sender remembers the size that the gateway said, and sends nothing larger.
      await host.ip('route', 'flush', 'cache');
      const ping = ['-n', '-c', '1', '-W', '2', '-M', 'do', '-s', String(size - PING_HEADERS), to];
      t.is(await host.succeeds('ping', ...ping), answer.verdict === 'accept', says);
    }
  await topology.lan.ip('route', 'del', '100.64.0.0/10');
}

/** The gateway lets it pass, and beside that it is said that its host knows no way. */
async function judgeRoute(scene: Scene): Promise<void> {
  const { t, topology, alice } = scene;
  for (const [network, address] of [
    ['203.0.113.0/24', '203.0.113.9'],
    ['2001:db8:7::/64', '2001:db8:7::9'],
  ] as const) {
    const family = network.includes(':') ? ['-6'] : [];
    const { interfaceName } = alice.client;
    await topology.alice.ip(...family, 'route', 'replace', network, 'dev', interfaceName);
    const answer = await explained(scene, address);
    t.is(answer.verdict, 'accept', answer.text);
    const [finding, ...more] = answer.host;
    t.deepEqual(more, []);
    t.like(finding, { check: 'route', message: `this host has no route to ${address}` });
    t.false(await canPing(topology.alice, address, 1));
  }
  t.deepEqual((await explained(scene, LAN4)).host, [], 'to the lan there is one');
}

/** The verdict is to accept, and beside it is said what is wrong with the host. */
async function judgeHost(scene: Scene): Promise<void> {
  const { t, topology, postern } = scene;
  const { gateway } = topology;
  await gateway.run('sysctl', '-qw', 'net.ipv4.ip_forward=0');
  await gateway.run(NFT, 'add table inet strict');
  const chain = '{ type filter hook forward priority 0; policy drop; }';
  await gateway.run(NFT, `add chain inet strict forward ${chain}`);
  await until(
    'the doctor sees both',
    async () => {
      const checks = (await explained(scene, LAN4)).host.map(({ check }) => check);
      return checks.includes('forwarding IPv4') && checks.includes('foreign rules');
    },
    DOCTOR_MS,
  );
  t.false(await canPing(topology.alice, LAN4, 2));
  const text = await runHere(postern, ['explain', scene.alice.device.id, LAN4]);
  t.regex(text, /^accept: It passes\./m, 'the gateway lets it pass');
  t.regex(text, /^host: forwarding IPv4: .*ip_forward=1/m);
  t.regex(text, /^host: foreign rules: the chain inet strict forward .* drops/m);
  await gateway.run('sysctl', '-qw', 'net.ipv4.ip_forward=1');
  await gateway.run(NFT, 'delete table inet strict');
  t.true(await canPing(topology.alice, LAN4));
}

async function configure(postern: Postern, configuration: object): Promise<void> {
  const { status, body } = await postern.call('PATCH', '/v0/configuration', { configuration });
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
}
