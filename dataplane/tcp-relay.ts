// The relay for TCP connections of devices, on a thread of its own, and the redirection to it. If
// the thread ends, connections are forwarded as without it.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { MAX_RELAYED, MAX_RELAYED_PER_ADDRESS } from './constants.ts';
import { messageOf } from './descriptors.ts';
import { loadRelayTable, removeRelayTable } from './io/relay-table.ts';
import type { RelayAnswer, RelayStart } from './io/relay-thread.ts';

/** Files that a gateway has open beside the two of each connection. */
const OTHER_FILES = 200;
const THREAD = new URL(import.meta.url.replace(/tcp-relay(?=\.\w+$)/, 'io/relay-thread'));

export interface TcpRelayOptions {
  readonly interfaceName: string;
  /** How many files this process may have open; null: it is not known. */
  readonly filesMax: number | null;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

export class TcpRelay {
  readonly #options: TcpRelayOptions;
  readonly #refused = new Int32Array(new SharedArrayBuffer(4));
  #thread: Worker | null = null;

  constructor(options: TcpRelayOptions) {
    this.#options = options;
  }

  /** How many connections found no room. */
  get refused(): number {
    return Atomics.load(this.#refused, 0);
  }

  async open(): Promise<void> {
    const { interfaceName, log } = this.#options;
    const workerData = {
      capacity: MAX_RELAYED,
      share: MAX_RELAYED_PER_ADDRESS,
      refused: this.#refused,
    } satisfies RelayStart;
    const thread = new Worker(THREAD, { workerData });
    this.#thread = thread;
    thread.once('exit', () => {
      if (this.#thread !== thread) return;
      this.#thread = null;
      // Nobody takes what the table redirects.
      void removeRelayTable(interfaceName);
    });
    thread.on('error', (error) => log('error', `the relay for TCP has failed: ${error.message}`));
    const fault = await this.#begin(thread);
    // Alone it keeps no process alive.
    thread.unref();
    if (fault === null) return this.#warnOfFiles();
    log('warn', `TCP connections of devices are not relayed: ${fault}`);
    await this.close();
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    if (thread === null) return;
    this.#thread = null;
    await removeRelayTable(this.#options.interfaceName);
    thread.ref();
    thread.postMessage('close');
    await once(thread, 'exit');
  }

  #warnOfFiles(): void {
    const { filesMax, log } = this.#options;
    const needed = 2 * MAX_RELAYED + OTHER_FILES;
    if (filesMax === null || filesMax >= needed) return;
    const left = Math.max(0, Math.floor((filesMax - OTHER_FILES) / 2));
    log(
      'warn',
      `this process may have ${filesMax} files open, enough to relay some ${left} TCP connections of devices at once; for all ${MAX_RELAYED} run before: ulimit -n ${needed}`,
    );
  }

  async #begin(thread: Worker): Promise<string | null> {
    const ended = new AbortController();
    thread.once('exit', () => ended.abort());
    try {
      const [answer] = (await once(thread, 'message', { signal: ended.signal })) as [RelayAnswer];
      if ('fault' in answer) return answer.fault;
      return await loadRelayTable(this.#options.interfaceName, answer.ports);
    } catch (error) {
      return ended.signal.aborted ? 'the thread of the relay has ended' : messageOf(error);
    }
  }
}
