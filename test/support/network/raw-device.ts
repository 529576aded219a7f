// A device whose packets a test makes byte by byte: WireGuard of dataplane/memory over a real UDP
// socket, so that a whole gateway gets packets that no kernel would send.

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { PACKET_SLOTS } from '../../../dataplane/constants.ts';
import { systemRandom } from '../../../dataplane/io/crypto.ts';
import { TypeScriptEngine } from '../../../dataplane/io/engine.ts';
import { TunnelClient } from '../../../dataplane/memory/client.ts';
import type { Surroundings } from '../../../dataplane/memory/surroundings.ts';
import type { Endpoint } from '../../../dataplane/wire/address.ts';
import { echoRequest } from '../dataplane/packets.ts';
import { type Data, type Postern, until } from '../gateway/postern.ts';
import { makeKeyPair } from './wireguard-client.ts';

const TIMERS_MS = 20;
/** Between two batches, so that no buffer on the way overflows. */
const BATCH_PAUSE_MS = 2;

/** A device with a session. */
export class RawDevice {
  readonly device: Data;
  /** Inner packets that arrived. */
  readonly received: Uint8Array[] = [];
  readonly #socket: Socket;
  readonly #client: TunnelClient;
  readonly #timer: NodeJS.Timeout;

  /** Creates a user and a device over the API; `gateway` is the address of its UDP port. */
  static async enrol(
    postern: Pick<Postern, 'create'>,
    email: string,
    gateway: Endpoint,
  ): Promise<RawDevice> {
    const user = await postern.create('user', { email });
    const keys = makeKeyPair();
    const fields = { user_id: user.id, public_key: keys.publicKey };
    const device = await postern.create('device', fields);
    const socket = createSocket('udp4').bind(0);
    await once(socket, 'listening');
    const raw = new RawDevice(device, keys.privateKey, socket, gateway);
    await raw.connect();
    return raw;
  }

  private constructor(device: Data, privateKey: string, socket: Socket, gateway: Endpoint) {
    this.device = device;
    this.#socket = socket;
    const around: Surroundings = {
      get now() {
        return performance.now();
      },
      get wallMs() {
        return Date.now();
      },
      random: systemRandom,
      transmit: (bytes, _from, to) => socket.send(bytes, to.port, to.address),
    };
    this.#client = new TunnelClient(around, {
      endpoint: { address: '127.0.0.1', port: socket.address().port },
      privateKey: new Uint8Array(Buffer.from(privateKey, 'base64')),
      makeEngine: (...parts) => new TypeScriptEngine(...parts),
      deliver: (packet) => this.received.push(packet),
    });
    this.#client.addPeer({
      publicKey: String(device['server_public_key']),
      presharedKey: new Uint8Array(Buffer.from(String(device['preshared_key']), 'base64')),
      ipv4: null,
      ipv6: null,
      scope: '',
      resume: { endpoint: gateway, heardAtMs: 0 },
    });
    socket.on('message', (bytes, { address, port }) =>
      this.#client.receive(new Uint8Array(bytes), { address, port }),
    );
    this.#timer = setInterval(() => this.#client.expire(), TIMERS_MS);
  }

  get ipv4(): string {
    return String(this.device['ipv4']);
  }

  get ipv6(): string {
    return String(this.device['ipv6']);
  }

  /** Makes a handshake, and confirms it to the gateway. */
  async connect(): Promise<void> {
    this.#client.restart();
    this.#client.connect();
    await until('a session', () => this.#client.peer.current !== null);
  }

  /** Sends inner packets, in batches. */
  async send(...packets: readonly Uint8Array[]): Promise<void> {
    for (let i = 0; i < packets.length; i += PACKET_SLOTS) {
      this.#client.send(...packets.slice(i, i + PACKET_SLOTS));
      await sleep(BATCH_PAUSE_MS);
    }
  }

  /** Whether a ping is answered. */
  async canPing(address: string): Promise<boolean> {
    const before = this.received.length;
    await this.send(echoRequest(address.includes(':') ? this.ipv6 : this.ipv4, address));
    const isAnswered = until('an answer', () => this.received.length > before, 1_000);
    return isAnswered.then(
      () => true,
      () => false,
    );
  }

  close(): void {
    clearInterval(this.#timer);
    this.#socket.close();
  }
}
