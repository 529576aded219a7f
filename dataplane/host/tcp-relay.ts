// The relay for TCP connections of devices, on a thread of its own, and the redirection to it. If
// the thread ends, connections are forwarded as without it.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { MAX_RELAYED, MAX_RELAYED_PER_ADDRESS } from '../constants.ts';
import { messageOf } from './descriptors.ts';
import { relayedWithin } from '../io/files.ts';
import { isRelayTableGone, loadRelayTable, removeRelayTable } from '../io/relay-table.ts';
import { RELAY_CARRIED, RELAY_REFUSED, type Left, type RelayPorts } from '../io/relay.ts';
import type { RelayAnswer, RelayCommand, RelayStart } from '../io/relay-thread.ts';

/** Enough for pasta as well, which has as many files open. */
const FILES_ADVISED = 16_384;
/** How long the thread may take to end. */
const END_MS = 1_000;
const THREAD = new URL(import.meta.url.replace(/host\/tcp-relay(?=\.\w+$)/, 'io/relay-thread'));

export interface TcpRelayOptions {
  readonly interfaceName: string;
  /** How many files this process may have open; null: it is not known. */
  readonly filesMax: number | null;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

export class TcpRelay {
  readonly #options: TcpRelayOptions;
  readonly #counts = new Int32Array(new SharedArrayBuffer(8));
  #thread: Worker | null = null;
  /** Where the table leads to; null where there should be no table. */
  #ports: RelayPorts | null = null;
  /** Why the table could not be loaded again, the last time that it had vanished. */
  #error: string | null = null;

  constructor(options: TcpRelayOptions) {
    this.#options = options;
  }

  /** How many connections found no room. */
  get refused(): number {
    return Atomics.load(this.#counts, RELAY_REFUSED);
  }

  /** How many are carried now. */
  get carried(): number {
    return this.#thread === null ? 0 : Atomics.load(this.#counts, RELAY_CARRIED);
  }

  async open(): Promise<void> {
    const { interfaceName, log } = this.#options;
    const capacity = relayedWithin(this.#options.filesMax);
    const share = Math.ceil((capacity * MAX_RELAYED_PER_ADDRESS) / MAX_RELAYED);
    const workerData = { capacity, share, counts: this.#counts } satisfies RelayStart;
    const thread = new Worker(THREAD, { workerData });
    this.#thread = thread;
    thread.once('exit', () => {
      if (this.#thread !== thread) return;
      this.#thread = null;
      // Nobody accepts the connections that the table redirects.
      removeRelayTable(interfaceName);
    });
    thread.on('error', (error) => log('error', `the relay for TCP has failed: ${error.message}`));
    const refusal = await this.#begin(thread);
    // The thread alone does not keep the process alive.
    thread.unref();
    if (refusal === null) return this.#warnOfFiles(capacity);
    log('warn', `TCP connections of devices are not relayed: ${refusal}`);
    await this.close();
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    if (thread === null) return;
    this.#thread = null;
    removeRelayTable(this.#options.interfaceName);
    thread.ref();
    const exited = once(thread, 'exit');
    thread.postMessage({ type: 'close' } satisfies RelayCommand);
    const late = setTimeout(() => void thread.terminate(), END_MS);
    await exited;
    clearTimeout(late);
  }

  /**
   * Loads the table again if somebody has removed it. Where the kernel refuses, the next call tries
   * again.
   */
  restore(): void {
    const { interfaceName, log } = this.#options;
    const thread = this.#thread;
    if (thread === null || this.#ports === null || !isRelayTableGone(interfaceName)) return;
    if (this.#error === null)
      log('warn', 'the nft table of the relay for TCP has vanished and is loaded again');
    const refusal = loadRelayTable(interfaceName, this.#ports);
    if (refusal !== null && refusal !== this.#error)
      log('warn', `TCP connections of devices are not relayed: ${refusal}`);
    if (refusal === null && this.#error !== null)
      log('info', 'TCP connections of devices are relayed again');
    this.#error = refusal;
  }

  /** Whether the table has vanished and could not be loaded again. */
  get isLost(): boolean {
    return this.#error !== null;
  }

  /** Ends the connections from addresses and networks that devices have lost. */
  resetFrom(left: Left): void {
    this.#thread?.postMessage({ type: 'reset', left } satisfies RelayCommand);
  }

  #warnOfFiles(capacity: number): void {
    const { filesMax, log } = this.#options;
    if (capacity === MAX_RELAYED) return;
    log(
      'warn',
      `this process may have ${filesMax} files open, so ${capacity} TCP connections of devices are relayed at once; for ${MAX_RELAYED} run before: ulimit -n ${FILES_ADVISED}`,
    );
  }

  async #begin(thread: Worker): Promise<string | null> {
    const ended = new AbortController();
    thread.once('exit', () => ended.abort());
    try {
      const [answer] = (await once(thread, 'message', { signal: ended.signal })) as [RelayAnswer];
      if ('error' in answer) return answer.error;
      const refusal = loadRelayTable(this.#options.interfaceName, answer.ports);
      this.#ports = refusal === null ? answer.ports : null;
      return refusal;
    } catch (error) {
      return ended.signal.aborted ? 'the thread of the relay has ended' : messageOf(error);
    }
  }
}
