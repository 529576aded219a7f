// A device of a gateway in a test: the record that the API made, and a WireGuard client that is set
// up with what the API answered, as a device is with its file.

import type { Agent } from 'node:http';
import {
  type CaptureOrder,
  formatAddress,
  makePrivateKey,
  parseAddress,
} from '../../dataplane/index.ts';
import {
  type Answers,
  type DeviceConfig,
  MemoryDevice,
  type MemoryNetwork,
} from '../../dataplane/memory/index.ts';
import { deviceFields } from '../../models/index.ts';
import { sentNames } from '../kit/validation/resource.ts';
import type { Diagnosis } from '../observe/diagnosis/fields.ts';
import type { Answer } from '../observe/explain/fields.ts';
import type { ShownEndedFlow, ShownFlow, ShownRefusal } from '../observe/live/fields.ts';
import type { Api, Fields } from './api.ts';
import { beginCapture, type CaptureWish, type TestCapture } from './capture.ts';
import { DeviceAgent, fetchBy, KeptConnections } from './fetch.ts';
import { refuseUnknownOptions } from './options.ts';

/** The most that one answer lists. */
export const LIMIT_MAX = 1_000;

/** What `POST /v0/devices` takes, but for the public key, which is that of the device's client. */
export const DEVICE_FIELDS = sentNames(deviceFields).filter((name) => name !== 'public_key');

/** Any value goes to the API, which validates it. */
type DeviceFields = Readonly<Partial<Record<(typeof DEVICE_FIELDS)[number], unknown>>>;

/** What is said of a new device. */
export interface DeviceWish extends DeviceFields {
  /** E-mail of its owner, who is made where nobody has it; left out: an owner of its own. */
  readonly user?: string;
  /** How it answers others; an echo of everything where it is left out. */
  readonly answers?: Answers;
}

/** Devices have addresses of a network for such tests (RFC 2544), each a host of it. */
const ENDPOINT_PORT = 40_000;
const HOSTS_PER_BLOCK = 254;

/** Where the nth device is on the network. */
export function endpointOf(number: number): DeviceConfig['endpoint'] {
  const block = Math.floor(number / HOSTS_PER_BLOCK);
  const address = `198.${18 + Math.floor(block / 256)}.${block % 256}.${1 + (number % HOSTS_PER_BLOCK)}`;
  return { address, port: ENDPOINT_PORT };
}

/** A private key, made as a client makes it. */
export function newPrivateKey(network: MemoryNetwork): Uint8Array {
  return makePrivateKey(network.random);
}

/** A protocol, and the port of one that has ports. */
const SERVICE = /^((tcp|udp|icmp)(\/\d+)?|\d+)$/;

/** A device and its client. */
export class TestDevice extends MemoryDevice {
  readonly id: string;
  readonly name: string;
  /** The id of its owner, for rules of the owner. */
  readonly userId: string;
  /** Base64. */
  readonly publicKey: string;
  /** The record as the API answered it when it was made. */
  readonly record: Fields;
  readonly #api: Api;
  readonly #network: MemoryNetwork;
  /** The connections of `fetch`. */
  readonly #kept = new KeptConnections((address, port) => this.stream(address, port));

  constructor(
    network: MemoryNetwork,
    api: Api,
    record: Fields,
    own: Pick<DeviceConfig, 'privateKey' | 'endpoint' | 'serverPort'>,
    answers?: Answers,
  ) {
    super(network, { ...own, ...configOfRecord(record) }, answers);
    this.id = String(record['id']);
    this.name = String(record['name']);
    this.userId = String(record['user_id']);
    this.publicKey = String(record['public_key']);
    this.record = record;
    this.#api = api;
    this.#network = network;
  }

  /**
   * Explains what becomes of a packet of this device, and sends none: `explain('10.0.0.6',
   * 'tcp/443')`, `explain(phone.id, 'icmp')`; with a size, of so many bytes, headers included; with
   * a source, of a host behind the device.
   */
  async explain(
    destination: string,
    service: string,
    options: { readonly size?: number; readonly source?: string } = {},
  ): Promise<Answer> {
    refuseUnknownOptions('explain', options, ['size', 'source']);
    const { size, source } = options;
    if (!SERVICE.test(service))
      throw new TypeError(`explain: the service is tcp/443, udp/53 or icmp, not “${service}”`);
    const [protocol, port] = service.split('/');
    const explain = { device_id: this.id, source, destination, protocol, port, size };
    return this.#api.post('/v0/explain', { explain });
  }

  /**
   * Begins to capture packets of this device, with the parameters of the API: `using capture =
   * await laptop.capture({ only: 'refused' })`, then `capture.packets()`.
   */
  async capture(wish: CaptureWish = {}): Promise<TestCapture> {
    // The API refuses where the device is deleted or the gateway is closed.
    await this.#api.get(`/v0/devices/${this.id}`);
    const capture = (order: CaptureOrder) => this.#network.capture(order);
    return beginCapture({ capture }, this.publicKey, wish);
  }

  /** An agent for `http.request`, whose connections are those of this device. */
  agent(): Agent {
    return new DeviceAgent((address, port) => this.stream(address, port));
  }

  /** Sends an HTTP request from this device to an address, as the global `fetch` does. */
  async fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    return fetchBy({ kept: this.#kept, fresh: () => this.agent() }, input, init);
  }

  /** Says why this device cannot connect, or that it is connected. */
  async diagnose(): Promise<Diagnosis> {
    return this.#api.get(`/v0/devices/${this.id}/diagnosis`);
  }

  /** Flows with this device at either end that are alive: at most 1,000. */
  async flows(): Promise<readonly ShownFlow[]> {
    return this.#api.get(`/v0/flows?limit=${LIMIT_MAX}&device_id=${this.id}`);
  }

  /** Flows of this device that have ended: at most 1,000, the latest first. */
  async endedFlows(): Promise<readonly ShownEndedFlow[]> {
    return this.#api.get(`/v0/ended_flows?limit=${LIMIT_MAX}&device_id=${this.id}`);
  }

  /** Packets of this device that were refused lately: at most 1,000 entries, the latest first. */
  async refusals(): Promise<readonly ShownRefusal[]> {
    return this.#api.get(`/v0/refusals?limit=${LIMIT_MAX}&device_id=${this.id}`);
  }
}

function configOfRecord(
  record: Fields,
): Pick<DeviceConfig, 'ipv4' | 'ipv6' | 'presharedKey' | 'serverPublicKey'> {
  return {
    ipv4: canonical(record['ipv4']),
    ipv6: canonical(record['ipv6']),
    presharedKey: new Uint8Array(Buffer.from(String(record['preshared_key']), 'base64')),
    serverPublicKey: String(record['server_public_key']),
  };
}

function canonical(text: unknown): string | null {
  const bytes = typeof text === 'string' ? parseAddress(text) : null;
  return bytes === null ? null : formatAddress(bytes);
}
