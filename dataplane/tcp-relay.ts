// The relay for TCP connections of devices, on a thread of its own, and the redirection to it. If
// the thread ends, connections are forwarded as without it.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { MAX_RELAYED, MAX_RELAYED_PER_ADDRESS } from './constants.ts';
import { messageOf } from './descriptors.ts';
import { loadRelayTable, removeRelayTable } from './io/relay-table.ts';
import type { RelayAnswer, RelayStart } from './io/relay-thread.ts';

const THREAD = new URL(import.meta.url.replace(/tcp-relay(?=\.\w+$)/, 'io/relay-thread'));

export interface TcpRelayOptions {
  readonly interfaceName: string;
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
    thread.unref();
    this.#thread = thread;
    thread.once('exit', () => {
      if (this.#thread !== thread) return;
      this.#thread = null;
      // Nobody takes what the table redirects.
      void removeRelayTable(interfaceName);
    });
    const fault = await this.#begin(thread);
    if (fault !== null) log('warn', `TCP connections of devices are not relayed: ${fault}`);
    thread.on('error', (error) => log('error', `the relay for TCP has failed: ${error.message}`));
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    if (thread === null) return;
    this.#thread = null;
    await removeRelayTable(this.#options.interfaceName);
    thread.postMessage('close');
    await once(thread, 'exit');
  }

  async #begin(thread: Worker): Promise<string | null> {
    try {
      const [answer] = (await once(thread, 'message')) as [RelayAnswer];
      if ('fault' in answer) return answer.fault;
      return await loadRelayTable(this.#options.interfaceName, answer.ports);
    } catch (error) {
      return messageOf(error);
    }
  }
}
