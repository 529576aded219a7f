// A gateway with three devices and everything behind its TUN, which takes the steps of a course.

import type { Amendment, PeerConfig, RuleConfig } from '../../../dataplane/contract.ts';
import { implementations } from '../dataplane/native.ts';
import {
  chooseAmong,
  type Client,
  gatewayPeer,
  GATEWAY_ENDPOINT,
  type Node,
  peer,
  randomBytes,
  seededRandom,
  World,
} from '../dataplane/simulation.ts';
import { bytesOf, errorOf, peerAddresses, rulesOf, type Step, turned } from './courses.ts';
import type { Described } from './slow-filter.ts';

const [, primitives] = implementations.at(-1)!;

/** How long a step may take, with the handshake that it may need. */
export const STEP_MS = 100;

/** Packets by reason of their refusal, and by rule. */
export interface Counts {
  readonly drops: Readonly<Record<string, number>>;
  readonly hits: Readonly<Record<string, number>>;
}

/** One gateway with three devices, as the courses know them. */
export class Scene {
  readonly world: World;
  readonly gateway: Node;
  readonly clients: readonly Client[];
  readonly #peers: PeerConfig[];
  readonly #rules = new Map<string, readonly RuleConfig[]>();
  /** By owner: the groups. */
  readonly #groups = new Map<string, string>();
  readonly #seen: Described[] = [];
  readonly #hits = new Map<string, number>();
  #ruleNumber = 0;
  /** Called with each packet before it is sent. */
  onSend: (packet: Described, bytes: Uint8Array) => void = () => undefined;
  /** Called with each change before it is made. */
  onChange: (amendment: Amendment) => void = () => undefined;

  /** `turns`: draws whose turn it is, and whether things that were handed over wait. */
  constructor(workers: number, seed: number, dawdles = false, flows = 4_096) {
    const turns = seededRandom(seed);
    this.world = new World(7);
    this.gateway = this.world.addNode({
      endpoint: GATEWAY_ENDPOINT,
      privateKey: randomBytes(seededRandom(1_001), 32),
      primitives,
      workers,
      choose: (count) => chooseAmong(turns, count),
      ...(dawdles ? { dawdles: () => chooseAmong(turns, 3) > 0 } : {}),
      flows,
    });
    this.clients = [0, 1, 2].map((i) =>
      this.world.addClient({
        endpoint: { address: `198.51.100.${7 + i}`, port: 40_000 + i },
        privateKey: randomBytes(seededRandom(2_000 + i), 32),
        primitives,
      }),
    );
    this.#peers = this.clients.map(({ key }, i) =>
      peer({ key, ipv4: peerAddresses[4][i]!, ipv6: peerAddresses[6][i]!, scope: `${i}` }),
    );
    this.#apply();
    for (const client of this.clients) {
      client.addPeer(gatewayPeer(this.gateway));
      client.connect();
    }
    this.world.run(100);
  }

  #apply(peers: readonly PeerConfig[] = this.#peers): void {
    const rules = Object.fromEntries(this.#rules);
    this.onChange(this.gateway.amendmentTo(peers, rules));
    this.gateway.apply(peers, rules);
  }

  /** Removes a device, or adds it again; then it connects anew. */
  setServed(i: number, isServed: boolean): void {
    this.#apply(this.#peers.filter((_, n) => isServed || n !== i));
    if (isServed) this.connect(i);
  }

  /** A device forgets its sessions, and makes a handshake. */
  connect(i: number): void {
    this.clients[i]!.restart();
    this.clients[i]!.connect();
    this.world.run(100);
  }

  /** Changes how a device is set up. */
  configure(i: number, fields: Partial<PeerConfig>): void {
    this.#peers[i] = { ...this.#peers[i]!, ...fields };
    this.#apply();
  }

  /** Removes a device, and adds it again: nobody knows where it is until it connects. */
  addAgain(i: number): void {
    this.#apply(this.#peers.filter((_, n) => n !== i));
    this.#apply();
  }

  /** Takes a step, and waits until all that it causes has happened. */
  take(step: Step): void {
    this.begin(step);
    this.world.run(STEP_MS);
  }

  /** Takes a step and does not wait. */
  begin(step: Step): void {
    switch (step.type) {
      case 'packet':
      case 'again':
      case 'back':
      case 'error':
        return this.#send(this.packetOf(step));
      case 'wait':
        return this.world.run(step.ms);
      case 'rules': {
        const rules = rulesOf(step, this.#ruleNumber);
        this.#ruleNumber += rules.length;
        if (rules.length === 0) this.#rules.delete(step.scope);
        else this.#rules.set(step.scope, rules);
        return this.#apply();
      }
      case 'default': {
        const { action } = step;
        this.onChange({ peers: new Map(), rules: new Map(), defaultAction: action });
        const nothing = { removed: [], updated: [], added: [], scopes: [] };
        return this.gateway.change({ ...nothing, defaultAction: action });
      }
      case 'move':
        this.#peers[step.peer] = {
          ...this.#peers[step.peer]!,
          scope: step.scope,
          groups: this.#groups.get(step.scope) ?? '',
        };
        return this.#apply();
      case 'join':
        this.#groups.set(step.scope, step.groups);
        for (const [i, config] of this.#peers.entries())
          if (config.scope === step.scope) this.#peers[i] = { ...config, groups: step.groups };
        return this.#apply();
      case 'forget': {
        const config = this.#peers[step.peer]!;
        const lost = step.family === 4 ? { ipv4: null } : { ipv6: null };
        this.#peers[step.peer] = { ...config, ...lost };
        this.#apply();
        this.#peers[step.peer] = config;
        return this.#apply();
      }
      case 'restart':
        this.setServed(0, false);
        return this.setServed(0, true);
    }
  }

  /** The packet that a step would send now; null: none. */
  packetOf(step: Step): Described | null {
    const packet = this.#anyPacketOf(step);
    return packet === null || (packet.from === 'tun' && packet.to === 'tun') ? null : packet;
  }

  #anyPacketOf(step: Step): Described | null {
    if (step.type === 'packet') return step.packet;
    const known = 'about' in step ? this.#seen.at(-1 - step.about) : undefined;
    if (known === undefined) return null;
    if (step.type === 'back') return turned(known);
    return step.type === 'error' ? errorOf(known, step.from) : known;
  }

  #send(packet: Described | null): void {
    if (packet === null) return;
    this.#seen.push(packet);
    const bytes = bytesOf(packet);
    this.onSend(packet, bytes);
    if (packet.from === 'tun') this.gateway.send(bytes);
    else this.clients[packet.from]!.send(bytes);
  }

  /** What has arrived since the last call: by place, and there in any order. */
  arrivals(): Record<string, string[]> {
    const places = {
      tun: this.gateway,
      0: this.clients[0]!,
      1: this.clients[1]!,
      2: this.clients[2]!,
    };
    return Object.fromEntries(
      Object.entries(places).map(([name, { delivered }]) => [
        name,
        delivered
          .splice(0)
          .map((bytes) => Buffer.from(bytes).toString('hex'))
          .toSorted(),
      ]),
    );
  }

  /** What was refused and what rules were hit, since the beginning. */
  counts(): Counts {
    const { rules, drops } = this.gateway.sample();
    for (const { id, packets } of rules) this.#hits.set(id, (this.#hits.get(id) ?? 0) + packets);
    const sorted = (all: Iterable<[string, number]>): Record<string, number> =>
      Object.fromEntries([...all].toSorted(([a], [b]) => a.localeCompare(b)));
    return { drops: sorted(Object.entries(drops)), hits: sorted(this.#hits) };
  }
}
