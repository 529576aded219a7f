// A whole gateway in a test process: the API, the database, the reconciler and the packet path that
// serve real devices, on a database and a network in memory. No rights, no TUN, no port; dozens
// live side by side in one process.

import { randomBytes } from 'node:crypto';
import type { Config } from '../../config/index.ts';
import { derivePublicKey, formatAddress, parseAddress } from '../../dataplane/index.ts';
import {
  type Addresses,
  type Answers,
  MemoryGateway,
  MemoryHost,
  MemoryNetwork,
} from '../../dataplane/memory/index.ts';
import { newId, openMemoryDatabase } from '../../models/index.ts';
import { type Running, serve } from '../start/serve.ts';
import { networksOf } from '../reconcile/tunnel-networks.ts';
import { Api } from './api.ts';
import type { ShownEndedFlow, ShownFlow, ShownRefusal } from '../observe/live/fields.ts';
import {
  DEVICE_FIELDS,
  type DeviceWish,
  endpointOf,
  LIMIT_MAX,
  newPrivateKey,
  TestDevice,
} from './device.ts';
import { refuseInsideTunnel, spotOf } from './host-address.ts';
import { type LogLine, logInto } from './log.ts';
import { refuseUnknownAnswers, refuseUnknownOptions } from './options.ts';
import { type Answer, injectInto, type Sent } from './requests.ts';
import { type Administrator, testSettings } from './settings.ts';

const ENCRYPTION_KEY_BYTES = 32;
/** Least cost of bcrypt: passwords of tests protect nothing. */
const PASSWORD_COST = 4;
/**
 * Writes are in force when they are answered, however busy the machine of a test is: there, the two
 * seconds of a gateway that serves may be too few.
 */
const PATIENCE = 15;

/** What a gateway in a test is made of. */
export interface TestGatewayOptions {
  /** In memory, for this gateway alone. */
  readonly database?: 'memory';
  /**
   * `memory`: hosts behind it are those of `gateway.host`. `sockets`: these may also be real
   * servers, which devices reach by sockets of this process.
   */
  readonly tun?: 'memory' | 'sockets';
  /** Settings by their names in docs/reference/settings.md: `{ DEFAULT_ACTION: 'drop' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Starts a gateway in this process; rejects when a setting is wrong. */
export async function createGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  refuseElsewhere(options);
  const hasSockets = options.tun === 'sockets';
  const { config, administrator } = testSettings(options.settings ?? {});
  const log: LogLine[] = [];
  const keeper = logInto(log);
  const network = new MemoryNetwork();
  const key = config.databaseEncryptionKey;
  const database = await openMemoryDatabase({
    encryptionKey:
      key === null ? randomBytes(ENCRYPTION_KEY_BYTES) : new Uint8Array(Buffer.from(key, 'base64')),
    log: keeper,
  });
  try {
    const running = await serve(config, database, keeper, {
      createGateway: async (dataplane) => new MemoryGateway(network, dataplane, hasSockets),
      identity: { id: newId(), name: 'test' },
      passwordCost: PASSWORD_COST,
      listens: false,
      patience: PATIENCE,
    });
    const close = async (): Promise<void> => {
      await running.stop();
      await database.close();
    };
    return new TestGateway({ config, administrator, log, network, running, hasSockets, close });
  } catch (error) {
    await database.close();
    throw error;
  }
}

function refuseElsewhere(options: TestGatewayOptions): void {
  refuseUnknownOptions('createGateway', options, ['database', 'tun', 'settings']);
  const { database = 'memory', tun = 'memory' } = options;
  if (database !== 'memory')
    throw new TypeError(`database may be 'memory' alone, not '${String(database)}'`);
  if (tun !== 'memory' && tun !== 'sockets')
    throw new TypeError(`tun may be 'memory' or 'sockets', not '${String(tun)}'`);
}

interface Parts {
  readonly config: Config;
  readonly administrator: Administrator;
  readonly log: LogLine[];
  readonly network: MemoryNetwork;
  readonly running: Running;
  readonly hasSockets?: boolean;
  readonly close: () => Promise<void>;
}

/** A gateway in a test process. */
export class TestGateway implements AsyncDisposable {
  /** The API in the name of the administrator: `gateway.api.post('/v0/users', { user })`. */
  readonly api: Api;
  /** Who may do everything; `token` is their API token. */
  readonly administrator: Administrator;
  /** What it logged so far. */
  readonly log: readonly LogLine[];
  readonly #parts: Parts;
  /** At its own addresses in the tunnel: answers pings, echoes. */
  readonly #own: MemoryHost;
  #url: string | null = null;
  #devices = 0;
  #closing: Promise<void> | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.administrator = parts.administrator;
    this.log = parts.log;
    this.api = new Api((method, path, sent) => this.inject(method, path, sent));
    const { ipv4, ipv6 } = networksOf(parts.config);
    this.#own = this.#addHost(
      {
        ipv4: ipv4 === null ? null : formatAddress(ipv4.address),
        ipv6: ipv6 === null ? null : formatAddress(ipv6.address),
      },
      {},
    );
  }

  /** The administrator's API token. */
  get token(): string {
    return this.administrator.token;
  }

  /** Its IPv4 address in the tunnel; throws where WIREGUARD_IPV4_ENABLED is false. */
  get ipv4(): string {
    return this.#own.ipv4;
  }

  /** Its IPv6 address in the tunnel; throws where WIREGUARD_IPV6_ENABLED is false. */
  get ipv6(): string {
    return this.#own.ipv6;
  }

  // ---- the API and the console ----

  /** Sends a request without a port, by default as the administrator; `token: null` as nobody. */
  async inject(method: string, path: string, sent: Sent = {}): Promise<Answer> {
    this.#mustBeOpen();
    refuseUnknownOptions('inject', sent, ['body', 'token', 'headers']);
    return injectInto(this.#parts.running.server, method, path, { token: this.token, ...sent });
  }

  /** Listens on a free port of 127.0.0.1, or where HTTP_HOST and HTTP_PORT say; the URL. */
  async listen(): Promise<string> {
    this.#mustBeOpen();
    if (this.#url === null) {
      const { server } = this.#parts.running;
      await server.start();
      this.#url = server.info.uri;
    }
    return this.#url;
  }

  /**
   * Makes a one-time link for the user with an e-mail, who is made where nobody has it; its path,
   * for `inject`, or for a browser behind the URL of `listen`.
   */
  async enrol(email: string): Promise<string> {
    const path = `/v0/users/${await this.#userId(email)}/enrolment`;
    const { url } = await this.api.post<{ url: string }>(path, { enrolment: {} });
    return new URL(url).pathname;
  }

  // ---- the network ----

  /** Makes a device over the API, and its client, which has shaken hands with the gateway. */
  async addDevice(wish: DeviceWish = {}): Promise<TestDevice> {
    refuseUnknownOptions('addDevice', wish, ['user', 'answers', ...DEVICE_FIELDS]);
    refuseUnknownAnswers(wish.answers ?? {});
    const number = this.#devices++;
    const { user = `user-${number + 1}@example.com`, answers, ...fields } = wish;
    const user_id = fields.user_id ?? (await this.#userId(user));
    const { network, config } = this.#parts;
    const privateKey = newPrivateKey(network);
    const publicKey = Buffer.from(derivePublicKey(privateKey)).toString('base64');
    const record = await this.api.post('/v0/devices', {
      device: { ...fields, user_id, public_key: publicKey },
    });
    const own = { privateKey, endpoint: endpointOf(number), serverPort: config.wireguardPort };
    const device = new TestDevice(network, this.api, record, own, answers);
    device.online();
    return device;
  }

  async #userId(email: string): Promise<string> {
    const [known] = await this.api.get<{ id: string }[]>(
      `/v0/users?email=${encodeURIComponent(email)}`,
    );
    return (known ?? (await this.api.post<{ id: string }>('/v0/users', { user: { email } }))).id;
  }

  /**
   * Puts a host behind the gateway, at an IPv4 or IPv6 address: it answers, and asks devices. With
   * `forward` it is the server at that address and port of this machine, whatever port is asked.
   */
  host(address: string, answers?: Answers): MemoryHost;
  host(address: string, answers: { readonly forward: string }): null;
  host(address: string, answers: Answers & { readonly forward?: string } = {}): MemoryHost | null {
    this.#mustBeOpen();
    const { forward, ...others } = answers;
    refuseUnknownAnswers(others);
    const bytes = parseAddress(address);
    if (bytes === null) throw new TypeError(`${address} is no IP address`);
    const text = formatAddress(bytes);
    refuseInsideTunnel(text, this.#parts.config);
    if (forward !== undefined) return this.#forward(text, forward, others);
    const ends = bytes.length === 4 ? { ipv4: text, ipv6: null } : { ipv4: null, ipv6: text };
    return this.#addHost(ends, others);
  }

  #forward(at: string, to: string, others: Answers): null {
    const { network, hasSockets } = this.#parts;
    if (hasSockets !== true) throw new TypeError("forward needs createGateway({ tun: 'sockets' })");
    if (Object.keys(others).length > 0)
      throw new TypeError('forward leads to a server, which answers itself');
    network.addServer(at, spotOf(to));
    return null;
  }

  #addHost({ ipv4, ipv6 }: Addresses, answers: Answers): MemoryHost {
    const { network } = this.#parts;
    const host = new MemoryHost(network, { ipv4, ipv6 }, answers);
    for (const address of [ipv4, ipv6]) if (address !== null) network.addHost(address, host);
    return host;
  }

  /** Packets that the packet path refused so far, by reason (dataplane/reasons.ts). */
  drops(): Readonly<Record<string, number>> {
    return this.#parts.network.drops();
  }

  /** Flows that are alive: at most 1,000. */
  flows(): Promise<readonly ShownFlow[]> {
    return this.api.get(`/v0/flows?limit=${LIMIT_MAX}`);
  }

  /** Flows that have ended: at most 1,000, the latest first. */
  endedFlows(): Promise<readonly ShownEndedFlow[]> {
    return this.api.get(`/v0/ended_flows?limit=${LIMIT_MAX}`);
  }

  /** Packets that were refused lately: at most 1,000 entries, the latest first. */
  refusals(): Promise<readonly ShownRefusal[]> {
    return this.api.get(`/v0/refusals?limit=${LIMIT_MAX}`);
  }

  // ---- the end ----

  /** Stops everything; the database is gone. */
  close(): Promise<void> {
    this.#closing ??= this.#parts.close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #mustBeOpen(): void {
    if (this.#closing !== null) throw new Error('the gateway is closed');
  }
}
