// The thread of the relay, so that copying delays neither the API nor packets.

import { parentPort, workerData } from 'node:worker_threads';
import { loadAddon } from '../native/index.ts';
import { type Left, Relay, type RelayPorts } from './relay.ts';

/** What the thread is given. */
export interface RelayStart {
  readonly capacity: number;
  readonly share: number;
  /** RELAY_: numbers that the gateway reads. */
  readonly counts: Int32Array;
}

/** What the thread is sent. */
export type RelayCommand =
  | { readonly type: 'close' }
  /** Ends the connections from these devices. */
  | { readonly type: 'reset'; readonly left: Left };

/** What the thread answers, once. */
export type RelayAnswer = { readonly ports: RelayPorts } | { readonly error: string };

/** Node has no public name for the descriptor of a socket. */
interface WithHandle {
  readonly _handle?: { readonly fd: number } | null;
}

async function main({ capacity, share, counts }: RelayStart): Promise<RelayAnswer> {
  const { addon } = loadAddon();
  if (addon === null) return { error: 'the native engine was not built' };
  const relay = new Relay({
    destinationOf: (socket) => addon.originalDestination((socket as WithHandle)._handle?.fd ?? -1),
    capacity,
    share,
    count: (what, by) => Atomics.add(counts, what, by),
  });
  parentPort?.on('message', (command: RelayCommand) => {
    if (command.type === 'reset') return relay.resetFrom(command.left);
    relay.close();
    parentPort?.close();
  });
  return { ports: await relay.listen() };
}

parentPort?.postMessage(await main(workerData as RelayStart));
