// A real WireGuard client for end-to-end tests: Debian's wireguard-go on a host of its own,
// configured with `wg` from keys that it makes itself.

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import nacl from 'tweetnacl';
import { type Host, stop } from './namespaces.ts';

/** A key pair as WireGuard writes it. */
export interface KeyPair {
  readonly privateKey: string;
  readonly publicKey: string;
}

export function makeKeyPair(): KeyPair {
  const pair = nacl.box.keyPair();
  return {
    privateKey: Buffer.from(pair.secretKey).toString('base64'),
    publicKey: Buffer.from(pair.publicKey).toString('base64'),
  };
}

/** What a client needs to know of the gateway and of itself. */
export interface ClientOptions {
  readonly keys: KeyPair;
  readonly serverPublicKey: string;
  readonly presharedKey: string;
  /** host:port */
  readonly endpoint: string;
  /** Its tunnel addresses, without prefix. */
  readonly addresses: readonly string[];
  /** Networks that it reaches through the tunnel. */
  readonly routes: readonly string[];
  readonly mtu?: number;
  readonly keepalive?: number;
}

/**
 * One client. Its interface is named like its host: the control sockets of all hosts lie in one
 * folder, under the names of the interfaces.
 */
export class WireguardClient {
  readonly host: Host;
  readonly interfaceName: string;
  #options: ClientOptions;
  #process: ChildProcess | null = null;

  constructor(host: Host, options: ClientOptions) {
    this.host = host;
    this.interfaceName = host.namespace;
    this.#options = options;
  }

  async start(): Promise<void> {
    const { addresses, routes, mtu = 1280 } = this.#options;
    const program = process.env['WIREGUARD_GO'] ?? 'wireguard-go';
    const socket = `/run/wireguard/${this.interfaceName}.sock`;
    rmSync(socket, { force: true });
    this.#process = this.host.start(program, ['-f', this.interfaceName], {
      env: { ...process.env, WG_PROCESS_FOREGROUND: '1', LOG_LEVEL: 'error' },
    });
    let output = '';
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    for (let i = 0; !(await isListening(socket)); i++) {
      const { exitCode } = this.#process;
      if (i === 400 || exitCode !== null) {
        await sleep(100);
        throw new Error(`wireguard-go did not start (exit code ${exitCode}): ${output}`);
      }
      await sleep(50);
    }
    await this.#configure();
    for (const address of addresses) await this.addAddress(address);
    await this.host.ip('link', 'set', this.interfaceName, 'mtu', String(mtu), 'up');
    for (const route of routes)
      await this.host.ip(...family(route), 'route', 'replace', route, 'dev', this.interfaceName);
  }

  async #configure(): Promise<void> {
    const { keys } = this.#options;
    await this.#wg('setconf', ['[Interface]', `PrivateKey = ${keys.privateKey}`, ...this.#peer()]);
  }

  #peer(): string[] {
    const options = this.#options;
    return [
      '[Peer]',
      `PublicKey = ${options.serverPublicKey}`,
      `PresharedKey = ${options.presharedKey}`,
      'AllowedIPs = 0.0.0.0/0, ::/0',
      `Endpoint = ${options.endpoint}`,
      `PersistentKeepalive = ${options.keepalive ?? 25}`,
      '',
    ];
  }

  async #wg(command: 'setconf' | 'addconf', lines: readonly string[]): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'postern-wg-'));
    const path = join(folder, 'wg.conf');
    writeFileSync(path, lines.join('\n'), { mode: 0o600 });
    await this.host.run('wg', command, this.interfaceName, path);
    rmSync(folder, { recursive: true });
  }

  /** Begins anew with a server at another endpoint, from the same port. */
  async moveTo(endpoint: string): Promise<void> {
    this.#options = { ...this.#options, endpoint };
    const { serverPublicKey } = this.#options;
    await this.host.run('wg', 'set', this.interfaceName, 'peer', serverPublicKey, 'remove');
    await this.#wg('addconf', this.#peer());
  }

  /** Where it believes the server to be: host:port. */
  async serverEndpoint(): Promise<string> {
    const { stdout } = await this.host.run('wg', 'show', this.interfaceName, 'endpoints');
    return stdout.trim().split('\t')[1] ?? '';
  }

  /** Changes some of the options and puts them into force: all sessions begin anew. */
  async reconfigure(changes: Partial<ClientOptions>): Promise<void> {
    this.#options = { ...this.#options, ...changes };
    await this.#configure();
  }

  async addAddress(address: string): Promise<void> {
    const prefix = address.includes(':') ? 128 : 32;
    const nodad = address.includes(':') ? ['nodad'] : [];
    await this.host.ip(
      'address',
      'add',
      `${address}/${prefix}`,
      'dev',
      this.interfaceName,
      ...nodad,
    );
  }

  async removeAddress(address: string): Promise<void> {
    const prefix = address.includes(':') ? 128 : 32;
    await this.host.ip('address', 'del', `${address}/${prefix}`, 'dev', this.interfaceName);
  }

  /** Seconds since 1970 of the latest handshake, 0 before the first. */
  async latestHandshake(): Promise<number> {
    const { stdout } = await this.host.run('wg', 'show', this.interfaceName, 'latest-handshakes');
    return Number(stdout.trim().split('\t')[1] ?? 0);
  }

  /** Bytes that the client has received and sent, as WireGuard counts them. */
  async transfer(): Promise<{ received: number; sent: number }> {
    const { stdout } = await this.host.run('wg', 'show', this.interfaceName, 'transfer');
    const [, received = 0, sent = 0] = stdout.trim().split('\t').map(Number);
    return { received, sent };
  }

  async stop(): Promise<void> {
    if (this.#process !== null) await stop(this.#process);
    this.#process = null;
  }
}

/**
 * Whether a control socket takes connections. `wg show` must not ask this: it removes a socket that
 * is bound but does not listen yet, and wireguard-go then ends.
 */
async function isListening(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

function family(route: string): string[] {
  return route.includes(':') ? ['-6'] : ['-4'];
}
