// Where engines in memory hold messages during a turn. What one sends waits on the link or in a
// ring, so none has its turn while another one has, and they can share batches. These have 8 MB,
// and a test has many gateways and devices.

import { type Batches, createBatches } from '../io/engine.ts';

const shared: Batches[] = [];

/** The batches of the engines of all workers of this number; those of devices are of worker 0. */
export function batchesOf(worker: number): Batches {
  return (shared[worker] ??= createBatches());
}
