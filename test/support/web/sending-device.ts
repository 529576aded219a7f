// A device of a gateway that a browser looks at: its client speaks to the gateway over loopback.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { derivePublicKey } from '../../../dataplane/noise/keys.ts';
import { Loopback } from '../dataplane/loopback-gateway.ts';
import { peer } from '../dataplane/simulation.ts';
import { make, type Stage } from './browser.ts';

const NO_PSK = Buffer.alloc(32).toString('base64');

/** A device of a user, and how it sends. */
export interface Sender {
  readonly id: string;
  readonly ipv4: string;
  readonly send: (...packets: Uint8Array[]) => void;
}

/** Makes a device and its client, which speaks to the gateway over loopback. */
export async function openDevice(
  t: ExecutionContext,
  stage: Stage,
  name: string,
  user_id: string,
): Promise<Sender> {
  const key = randomBytes(32);
  const public_key = Buffer.from(derivePublicKey(key)).toString('base64');
  const fields = { user_id, name, public_key, preshared_key: NO_PSK };
  const id = await make(stage, 'device', fields);
  const { ipv4, server_public_key } = (await stage.gateway.call('GET', `/v0/devices/${id}`)).body
    .data;
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const world = new Loopback(socket, 1);
  const here = { address: '127.0.0.1', port: socket.address().port };
  const client = world.addClient({ endpoint: here, privateKey: new Uint8Array(key) });
  const port = Number(stage.gateway.environment['WIREGUARD_PORT']);
  client.addPeer(peer({ key: server_public_key, endpoint: { address: '127.0.0.1', port } }));
  const act = (work: () => void): void => {
    world.now = performance.now();
    work();
    client.expire();
  };
  socket.on('message', (bytes, { address, port: from }) =>
    act(() => client.receive(bytes, { address, port: from })),
  );
  const timer = setInterval(() => act(() => undefined), 20);
  t.teardown(() => {
    clearInterval(timer);
    socket.close();
  });
  return { id, ipv4, send: (...packets) => act(() => client.send(...packets)) };
}
