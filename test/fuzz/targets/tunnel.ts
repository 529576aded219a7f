// The whole machine: an input is a story of datagrams, true and damaged, packets, changes and time.
// Whatever happens, nothing throws, nobody unknown is answered, no packet enters with a source that
// is not the device's, and the session can be used again afterwards.

import { strict as assert } from 'node:assert';
import { InnerPacket, parseInner } from '../../../dataplane/wire/ip.ts';
import { address, udp } from '../../support/dataplane/packets.ts';
import {
  type Client,
  gatewayAndClient,
  type Node,
  peer,
  rule,
  type World,
} from '../../support/dataplane/simulation.ts';
import { implementations } from '../../support/dataplane/native.ts';
import { ChoiceReader } from '../reader.ts';

const stranger = { address: '203.0.113.66', port: 666 };
const toGateway = udp({ source: '10.0.0.2', destination: '10.0.0.1', data: 'hello' });
const toClient = udp({ source: '10.0.0.1', destination: '10.0.0.2', data: 'answer' });
const STEPS_MAX = 40;

// The quickest that is here: most of the time goes into Diffie-Hellmans.
const [, primitives] = implementations.at(-1)!;

interface Scene {
  readonly world: World;
  readonly gateway: Node;
  readonly client: Client;
}

type Step = (scene: Scene, reader: ChoiceReader) => void;

const steps: readonly Step[] = [
  ({ world }, reader) => world.run(reader.word() * 4),
  ({ world, client }) => {
    client.send(toGateway);
    world.run(20);
  },
  ({ world, gateway }) => {
    gateway.send(toClient);
    world.run(20);
  },
  // Bytes from nowhere, at the port.
  ({ gateway }, reader) => gateway.receive(reader.slice(reader.word() % 2_048), stranger),
  // A datagram of before once more, with a byte or two changed, from the client or a stranger.
  ({ world, gateway, client }, reader) => {
    const flight = world.wire[reader.word() % Math.max(1, world.wire.length)];
    if (flight === undefined) return;
    const bytes = flight.bytes.slice();
    for (let changes = reader.byte() % 3; changes > 0; changes--)
      bytes[reader.word() % bytes.length]! ^= reader.byte();
    const cut = reader.byte() < 32 ? bytes.slice(0, reader.word() % (bytes.length + 1)) : bytes;
    const from = reader.byte() < 128 ? client.endpoint : stranger;
    if (reader.byte() < 128) gateway.receive(cut, from);
    else client.receive(cut, gateway.endpoint);
  },
  // Whatever the device likes to send, well sealed.
  ({ world, client }, reader) => {
    client.send(reader.slice(reader.word() % 1_400));
    world.run(20);
  },
  // Whatever the host likes to send.
  ({ world, gateway }, reader) => {
    gateway.send(reader.slice(reader.word() % 1_400));
    world.run(20);
  },
  ({ world, gateway, client }, reader) => {
    gateway.apply(
      reader.byte() < 32 ? [] : [deviceOf(client)],
      reader.byte() < 128 ? {} : { owner: [rule('1', 'drop', `10.0.0.${reader.byte()}`)] },
    );
    world.run(20);
  },
  ({ client, world }, reader) => {
    client.endpoint = { address: `198.51.100.${1 + (reader.byte() % 200)}`, port: 1_000 };
    world.run(20);
  },
  ({ world }, reader) => {
    world.link.loss = (reader.byte() % 4) / 8;
    world.link.duplication = (reader.byte() % 4) / 8;
    world.link.jitterMs = reader.byte() % 64;
  },
  ({ world }, reader) => {
    world.epochMs += (reader.integer() | 0) / 16;
  },
];

/** Plays a story. */
export function tunnel(input: Uint8Array): void {
  const reader = new ChoiceReader(input);
  const scene = gatewayAndClient(1 + reader.byte(), {
    gateway: { primitives },
    client: { primitives },
  });
  for (let i = 0; i < STEPS_MAX && !reader.isAtEnd; i++) {
    const begun = scene.world.wire.length;
    steps[reader.byte() % steps.length]!(scene, reader);
    check(scene, begun);
  }
  recover(scene);
}

function deviceOf(client: Client): ReturnType<typeof peer> {
  return peer({ key: client.key, ipv4: '10.0.0.2', ipv6: 'fd00::2', scope: 'owner' });
}

const packet = new InnerPacket();

function check({ world, gateway, client }: Scene, begun: number): void {
  assert.equal(gateway.drops()['internal_error'], undefined);
  for (const bytes of gateway.delivered) {
    parseInner(new DataView(bytes.buffer, bytes.byteOffset), 0, bytes.length, packet);
    const own = packet.version === 4 ? words('10.0.0.2') : words('fd00::2');
    const source = [packet.source0, packet.source1, packet.source2, packet.source3];
    if (isUnreachable(bytes)) continue;
    assert.deepEqual(source.slice(0, own.length), own, 'the source is the device’s');
  }
  // No cookie is owed without load, so a stranger hears only what was proved to be the device's:
  // a datagram that it replayed unchanged, first.
  for (const flight of world.wire.slice(begun))
    if (flight.to.address === stranger.address)
      assert(flight.bytes[0] !== 3, 'no cookie without load');
  gateway.delivered.length = 0;
  client.delivered.length = 0;
  if (world.wire.length > 500) world.wire.splice(0, world.wire.length - 100);
}

/** Whether a packet is the gateway's own answer that a host is not reached. */
function isUnreachable(bytes: Uint8Array): boolean {
  if (bytes[0]! >> 4 === 4) {
    const isOwn = bytes.subarray(12, 16).join('.') === '10.0.0.1';
    return isOwn && bytes[9] === 1 && bytes[20] === 3 && bytes[21] === 1;
  }
  const isOwn = Buffer.compare(bytes.subarray(8, 24), address('fd00::1')) === 0;
  return isOwn && bytes[6] === 58 && bytes[40] === 1 && bytes[41] === 3;
}

function words(text: string): number[] {
  const bytes = address(text);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return Array.from({ length: bytes.length / 4 }, (_, i) => view.getInt32(4 * i));
}

/** With a quiet link and an hour to forget, the device gets a packet through. */
function recover({ world, gateway, client }: Scene): void {
  Object.assign(world.link, { loss: 0, duplication: 0, jitterMs: 0 });
  gateway.apply([deviceOf(client)]);
  world.run(200_000);
  gateway.delivered.length = 0;
  for (let i = 0; i < 60 && gateway.delivered.length === 0; i++) {
    client.send(toGateway);
    world.run(1_000);
  }
  assert(gateway.delivered.length > 0, 'the device is served again');
}
