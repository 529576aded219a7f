// A whole Postern for end-to-end tests: `lib/postern serve` on a host of its own, reached over its
// API as by any client.

import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuSecondsIn } from '../../../lib/kit/process/pasta.ts';
import { programRoot } from './bundle.ts';
import {
  CHEAP_PASSWORDS,
  COMPILE_CACHE,
  launcherOf,
  PATH_TO_NODE,
  type RootlessStart,
  withoutRoot,
} from './launcher.ts';
import { type Host, stop } from '../network/namespaces.ts';
import { temporaryFolder } from '../suite/temporary-folder.ts';
import { type Way, way } from '../suite/ways.ts';

/** A record, as the API returns it. */
export type Data = Record<string, unknown> & { id: string };

/** One answer of the API. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
  /** Clock of this machine (ms) when the answer was complete. */
  readonly at: number;
}

/** Kinds of records. */
type Kind = 'user' | 'device' | 'rule' | 'group';

/** A gateway process. */
export class Postern {
  readonly host: Host;
  readonly api: string;
  readonly token = `pst_${randomBytes(32).toString('base64url')}`;
  readonly environment: Record<string, string>;
  /** A program and its arguments that run the gateway, for example to take away rights. */
  readonly wrapper: readonly string[];
  /** Everything it has printed. */
  output = '';
  #process: ChildProcess | null = null;
  readonly #root: string | null;

  /**
   * `address` is that of the API, seen from this machine; `root` is a checkout, in place of the
   * bundle.
   */
  constructor(
    host: Host,
    address: string,
    settings: Record<string, string> = {},
    wrapper: readonly string[] = [],
    root: string | null = null,
  ) {
    const chosen = startOf(way, settings);
    this.host = host;
    this.wrapper = [...wrapper, ...chosen.wrapper];
    this.#root = root;
    this.api = `http://${address}:13000`;
    this.environment = {
      PATH: PATH_TO_NODE,
      ...COMPILE_CACHE,
      ...CHEAP_PASSWORDS,
      HOME: process.env['HOME'] ?? '/root',
      DATA_DIR: temporaryFolder('postern-data-'),
      HTTP_HOST: '0.0.0.0',
      EXTERNAL_URL: 'http://gateway.example.test:13000/',
      BOOTSTRAP_API_TOKEN: this.token,
      DEFAULT_ADMIN_EMAIL: 'admin@example.test',
      DEFAULT_ADMIN_PASSWORD: 'correct horse battery',
      LOG_FORMAT: 'json',
      LOG_LEVEL: 'debug',
      // Where nothing is said, one: `auto` would depend on the machine.
      DATAPLANE_WORKERS: process.env['WORKERS'] ?? '1',
      ...settings,
      ...chosen.settings,
    };
  }

  /** Starts the gateway and waits until it is ready; resolves to how many ms that took. */
  async start(patienceMs = 60_000): Promise<number> {
    const begun = performance.now();
    const child = this.launch();
    for (;;) {
      if (child.exitCode !== null) throw new Error(`the gateway ended: ${this.output}`);
      if (performance.now() - begun > patienceMs) throw new Error(`not ready: ${this.output}`);
      if ((await this.readiness()).status === 'ready') return performance.now() - begun;
      await sleep(50);
    }
  }

  /** Starts the gateway and waits for nothing. */
  launch(): ChildProcess {
    // Asked now: a test may change the environment between two starts.
    const root = this.#root ?? programRoot(this.environment);
    const command = [launcherOf(root), 'serve'] as const;
    const [program, ...args] = [...this.wrapper, ...command] as const;
    const child = this.host.start(program, args, {
      env: this.environment,
      cwd: root,
    });
    this.#process = child;
    const keep = (chunk: Buffer): void => {
      this.output += chunk.toString();
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    return child;
  }

  /** The answer of `/readyz`; `status` is "silent" if there is none. */
  async readiness(): Promise<{ status: string; code: number }> {
    try {
      const response = await fetch(`${this.api}/readyz`, { signal: AbortSignal.timeout(5_000) });
      const { status } = (await response.json()) as { status: string };
      return { status, code: response.status };
    } catch {
      return { status: 'silent', code: 0 };
    }
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Returns the exit code; null where a signal ended it. */
  async stop(): Promise<number | null> {
    const child = this.#process;
    this.#process = null;
    if (child === null) return null;
    await stop(child);
    return child.exitCode;
  }

  /** Ends the process without a warning, and waits until it is gone. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  /** What it reports to Prometheus. */
  async metrics(): Promise<string> {
    const headers = { authorization: `Bearer ${this.token}` };
    return (await fetch(`${this.api}/metrics`, { headers })).text();
  }

  /** Sends a request with the bootstrap token. */
  async call(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await fetch(`${this.api}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? null : JSON.parse(text),
      at: Date.now(),
    };
  }

  /** Creates a record; throws when the API refuses. */
  async create(kind: Kind, fields: object): Promise<Data> {
    return dataOf(await this.call('POST', `/v0/${kind}s`, { [kind]: fields }), 201);
  }

  async update(kind: Kind, id: string, fields: object): Promise<Data> {
    return dataOf(await this.call('PATCH', `/v0/${kind}s/${id}`, { [kind]: fields }), 200);
  }

  async read(kind: Kind, id: string): Promise<Data> {
    return dataOf(await this.call('GET', `/v0/${kind}s/${id}`), 200);
  }

  async remove(kind: Kind, id: string): Promise<Answer> {
    const answer = await this.call('DELETE', `/v0/${kind}s/${id}`);
    if (answer.status !== 204) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }

  /** Refusals of packets by reason, as the log has reported them so far. */
  drops(): Record<string, number> {
    const totals: Record<string, number> = {};
    for (const line of this.logLines()) {
      const drops = line['drops'] as Record<string, number> | undefined;
      for (const [reason, count] of Object.entries(drops ?? {}))
        totals[reason] = (totals[reason] ?? 0) + count;
    }
    return totals;
  }

  logLines(): Record<string, unknown>[] {
    return this.output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** CPU seconds that the process has used. */
  cpuSeconds(): number {
    return cpuSecondsOf(this.pid);
  }
}

/** What a gateway is started with, so that packets of devices leave it as a run of tests wants. */
function startOf(chosen: Way, environment: Record<string, string>): RootlessStart {
  if (chosen === 'tun') return { settings: {}, wrapper: [] };
  if (chosen === 'rootless') return withoutRoot(environment);
  const wrapper = ['setpriv', '--bounding-set=-all', '--inh-caps=-all'];
  return { settings: { WIREGUARD_TUN: 'sockets' }, wrapper };
}

function dataOf(answer: Answer, wanted: number): Data {
  if (answer.status !== wanted)
    throw new Error(`${answer.status} instead of ${wanted}: ${JSON.stringify(answer.body)}`);
  if (answer.headers.has('postern-applied') && answer.headers.get('postern-applied') !== 'true')
    throw new Error('the write was answered before it was in force');
  return (answer.body as { data: Data }).data;
}

/** User and system time of a process, from /proc. */
export function cpuSecondsOf(pid: number): number {
  return cpuSecondsIn(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

/** User and system time of each thread of a process, by its number. */
export function threadSecondsOf(pid: number): Map<number, number> {
  const folder = `/proc/${pid}/task`;
  return new Map(
    readdirSync(folder).map((tid) => {
      const text = readFileSync(`${folder}/${tid}/stat`, 'utf8');
      return [Number(tid), cpuSecondsIn(text)];
    }),
  );
}

/** Waits until something holds; throws after `limitMs`, which is patience and no bar by default. */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  limitMs = 30_000,
): Promise<void> {
  const begun = performance.now();
  while (!(await holds())) {
    if (performance.now() - begun > limitMs) throw new Error(`${what} did not happen in time`);
    await sleep(50);
  }
}
