// A gateway and clients with sessions in virtual time, and the packets that they exchange.

import { udp } from './packets.ts';
import { SEED } from './seed.ts';
import {
  type Client,
  gatewayAndClient,
  gatewayAndClients,
  type Node,
  type World,
} from './simulation.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const elsewhere = { address: '203.0.113.66', port: 666 };
export const toGateway = udp({ source: '10.0.0.2', destination: '10.0.0.1', data: 'hello' });
export const toClient = udp({ source: '10.0.0.1', destination: '10.0.0.2', data: 'answer' });

/** Packets with a number in them, to and from the first client. */
export function up(i: number): Uint8Array {
  return udp({ source: '10.0.0.2', destination: '10.0.0.1', data: `up ${i}` });
}

export function down(i: number): Uint8Array {
  return udp({ source: '10.0.0.1', destination: '10.0.0.2', data: `down ${i}` });
}

/** A gateway and a client with a session that both have used. */
export function connected(): { world: World; gateway: Node; client: Client } {
  const scene = gatewayAndClient();
  scene.client.send(toGateway);
  scene.world.run(100);
  scene.gateway.send(toClient);
  scene.world.run(100);
  return scene;
}

/** A gateway and several clients, each connected, and nothing delivered yet. */
export function connectedClients(
  count: number,
  options: Parameters<typeof gatewayAndClients>[2] = {},
): ReturnType<typeof gatewayAndClients> {
  const scene = gatewayAndClients(count, SEED, options);
  for (const client of scene.clients) client.sender.initiate(client.peer, false, scene.world.now);
  scene.world.run(100);
  return scene;
}

export const from = { source: '10.0.0.2', destination: '192.0.2.1' };
export const from6 = { source: 'fd00::2', destination: '2001:db8::1' };
