// Hosts for end-to-end tests: network namespaces of this machine, joined by veth pairs. Everything
// has a prefix of its own, so that nothing of the machine is touched, and is removed at the end.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';

const run = promisify(execFile);
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

/** What a program said. */
export interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of this machine; rejects when it fails. */
export async function command(program: string, ...args: string[]): Promise<Output> {
  return run(program, args, { maxBuffer: OUTPUT_BYTES_MAX });
}

/** A host: a network namespace. */
export class Host {
  readonly namespace: string;
  readonly #children = new Set<ChildProcess>();

  constructor(namespace: string) {
    this.namespace = namespace;
  }

  /** Runs a program on the host to its end, or until `stopAll`; rejects when it fails. */
  async run(program: string, ...args: string[]): Promise<Output> {
    const running = run(...this.commandOf(program, args), { maxBuffer: OUTPUT_BYTES_MAX });
    this.#keep(running.child);
    return running;
  }

  /** Runs a program on the host; true when it succeeds. */
  async succeeds(program: string, ...args: string[]): Promise<boolean> {
    try {
      await this.run(program, ...args);
      return true;
    } catch {
      return false;
    }
  }

  /** Configures the host's network: the arguments of `ip`. */
  async ip(...args: string[]): Promise<void> {
    await command('ip', '-n', this.namespace, ...args);
  }

  /** Starts a program on the host and leaves it running until `stopAll`. */
  start(program: string, args: readonly string[], options: StartOptions = {}): ChildProcess {
    // `ip netns exec` becomes the program, so the pid and the signals are the program's own.
    const child = spawn(...this.commandOf(program, args), {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: options.env ?? process.env,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    this.#keep(child);
    return child;
  }

  #keep(child: ChildProcess): void {
    this.#children.add(child);
    child.on('exit', () => this.#children.delete(child));
  }

  protected commandOf(program: string, args: readonly string[]): [string, string[]] {
    return ['ip', ['netns', 'exec', this.namespace, program, ...args]];
  }

  /** Stops what runs. */
  async stopAll(): Promise<void> {
    await Promise.all([...this.#children].map((child) => stop(child)));
  }
}

/** This machine itself, where no namespace is needed. */
export class ThisMachine extends Host {
  constructor() {
    super('this machine');
  }

  protected override commandOf(program: string, args: readonly string[]): [string, string[]] {
    return [program, [...args]];
  }
}

/** How a program is started. */
export interface StartOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** Ends a process: by request, and by force when it does not listen. */
export async function stop(child: ChildProcess, patienceMs = 6_000): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  await exited;
  clearTimeout(force);
}

/** An end of a link: on which host, under which name, with which addresses (CIDR). */
export interface LinkEnd {
  readonly host: Host | null;
  readonly name: string;
  readonly addresses: readonly string[];
}

/**
 * Which network has an address of this machine. A test that ran out of time goes on in the background
 * and its teardown may have run too early, so the next network with that address removes the old one:
 * otherwise requests would reach the gateway of the test before.
 */
const holders = new Map<string, Network>();

/** The hosts of one test and the links between them. */
export class Network {
  readonly #prefix: string;
  readonly #hosts: Host[] = [];
  readonly #rootLinks: string[] = [];

  /** The prefix is short: interface names have 15 characters. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  async addHost(name: string): Promise<Host> {
    const namespace = `${this.#prefix}-${name}`;
    await command('ip', 'netns', 'del', namespace).catch(() => undefined);
    await command('ip', 'netns', 'add', namespace);
    const host = new Host(namespace);
    this.#hosts.push(host);
    await host.ip('link', 'set', 'lo', 'up');
    await host.run(
      'sysctl',
      '-qw',
      'net.ipv6.conf.all.accept_dad=0',
      'net.ipv6.conf.default.accept_dad=0',
    );
    return host;
  }

  /**
   * Joins two hosts; a null host is this machine itself. Rejects where another interface of this
   * machine has one of its addresses.
   */
  async link(left: LinkEnd, right: LinkEnd): Promise<void> {
    const names = [left, right].map((end) =>
      end.host === null ? `${this.#prefix}${end.name}` : end.name,
    );
    for (const [i, end] of [left, right].entries()) {
      if (end.host !== null) continue;
      await command('ip', 'link', 'del', names[i]!).catch(() => undefined);
      this.#rootLinks.push(names[i]!);
      for (const address of end.addresses) await this.#claim(address);
    }
    await command(
      'ip',
      'link',
      'add',
      names[0]!,
      ...netns(left),
      'type',
      'veth',
      'peer',
      'name',
      names[1]!,
      ...netns(right),
    );
    for (const [i, end] of [left, right].entries()) await this.#configure(end, names[i]!);
  }

  async #claim(address: string): Promise<void> {
    const [host = ''] = address.split('/');
    await holders.get(host)?.remove();
    const { stdout } = await command('ip', '-oneline', 'address', 'show', 'to', host);
    const [, name] = /^\d+: (\S+)/.exec(stdout) ?? [];
    if (name !== undefined)
      throw new Error(`${host} is on ${name}, perhaps since a run was ended: ip link del ${name}`);
    holders.set(host, this);
  }

  async #configure(end: LinkEnd, name: string): Promise<void> {
    const ip = (...args: string[]): Promise<unknown> =>
      end.host === null ? command('ip', ...args) : end.host.ip(...args);
    for (const address of end.addresses)
      await ip('address', 'add', address, 'dev', name, ...(address.includes(':') ? ['nodad'] : []));
    await ip('link', 'set', name, 'up');
  }

  /** Stops everything that runs on the hosts and removes them. */
  async remove(): Promise<void> {
    for (const [address, network] of holders) if (network === this) holders.delete(address);
    await Promise.all(this.#hosts.map((host) => host.stopAll()));
    for (const name of this.#rootLinks)
      await command('ip', 'link', 'del', name).catch(() => undefined);
    for (const host of this.#hosts)
      await command('ip', 'netns', 'del', host.namespace).catch(() => undefined);
  }
}

function netns(end: LinkEnd): string[] {
  return end.host === null ? [] : ['netns', end.host.namespace];
}
