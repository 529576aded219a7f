// A gateway in memory with devices and hosts, without a database: configurations are given by hand.
// Keys and indices come from the seed; time is real.

import type { ExecutionContext } from 'ava';
import type { GatewayConfig, PeerConfig, RuleConfig } from '../../../dataplane/contract.ts';
import { MemoryDevice } from '../../../dataplane/memory/device.ts';
import { MemoryGateway } from '../../../dataplane/memory/gateway.ts';
import { type Answers, MemoryHost } from '../../../dataplane/memory/host.ts';
import { MemoryNetwork } from '../../../dataplane/memory/network.ts';
import { randomBytes } from '../../../dataplane/memory/surroundings.ts';
import { derivePublicKey } from '../../../dataplane/noise/keys.ts';
import { address } from '../../support/dataplane/packets.ts';
import { peer, WORKERS } from '../../support/dataplane/simulation.ts';
import { chance } from '../../support/dataplane/seeded-test.ts';

const PORT = 51_820;

/** The gateway (10.0.0.1, fd00::1) with its devices and hosts. */
export class MemoryScene {
  readonly network = new MemoryNetwork(chance(1));
  readonly gateway: MemoryGateway;
  readonly #peers = new Map<string, PeerConfig>();
  #rules: GatewayConfig['rules'] = new Map();

  constructor(t: ExecutionContext, defaultAction: 'accept' | 'drop' = 'accept') {
    const privateKey = randomBytes(this.network.random, 32);
    this.gateway = new MemoryGateway(this.network, {
      privateKey,
      timestampFloorMs: 0,
      listenPort: PORT,
      interfaceName: 'memory',
      mtu: 1280,
      tun: 'auto',
      defaultAction,
      allowsMetadata: false,
      forwarding: 'off',
      uapi: 'off',
      ipv4: {
        network: address('10.0.0.0'),
        prefixBits: 24,
        address: address('10.0.0.1'),
      },
      ipv6: {
        network: address('fd00::'),
        prefixBits: 64,
        address: address('fd00::1'),
      },
      masqueradeIpv4: false,
      masqueradeIpv6: false,
      egressInterface: null,
      engine: 'typescript',
      workers: WORKERS,
      log: () => undefined,
    });
    t.teardown(() => this.gateway.close());
  }

  /** Applies all peers and rules of the scene. */
  async apply(): Promise<void> {
    await this.gateway.apply({ peers: new Map(this.#peers), rules: this.#rules });
  }

  /** Adds a device: 10.0.0.N, fd00::N. */
  async addDevice(
    number: number,
    { answers = {}, peerKey }: { answers?: Answers; peerKey?: Uint8Array } = {},
  ): Promise<{ device: MemoryDevice; key: string }> {
    const privateKey = randomBytes(this.network.random, 32);
    const presharedKey = randomBytes(this.network.random, 32);
    const key = Buffer.from(derivePublicKey(privateKey)).toString('base64');
    const addresses = { ipv4: `10.0.0.${number}`, ipv6: `fd00::${number}` };
    this.#peers.set(key, peer({ key, ...addresses, presharedKey: peerKey ?? presharedKey }));
    await this.apply();
    const device = new MemoryDevice(
      this.network,
      {
        ...addresses,
        privateKey,
        presharedKey,
        serverPublicKey: this.gateway.key,
        serverPort: PORT,
        endpoint: { address: `198.51.100.${number}`, port: 40_000 },
      },
      answers,
    );
    device.online();
    return { device, key };
  }

  /** Removes a device, or adds it again. */
  async setPeer(key: string, config: PeerConfig | null): Promise<PeerConfig> {
    const before = this.#peers.get(key)!;
    if (config === null) this.#peers.delete(key);
    else this.#peers.set(key, config);
    await this.apply();
    return before;
  }

  async setRules(...rules: RuleConfig[]): Promise<void> {
    this.#rules = rules.length === 0 ? new Map() : new Map([['', rules]]);
    await this.apply();
  }

  /** Adds a host behind the TUN. */
  addHost(at: string, answers: Answers = {}): MemoryHost {
    const ends = at.includes(':') ? { ipv4: null, ipv6: at } : { ipv4: at, ipv6: null };
    const host = new MemoryHost(this.network, ends, answers);
    this.network.addHost(at, host);
    return host;
  }
}
