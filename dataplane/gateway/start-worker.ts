// Starts worker threads. It imports next to nothing of the data plane, so that the threads begin
// before the main thread has loaded the rest.

import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type WorkersWanted, workersOf } from '../worker-count.ts';
import type { WorkerStart } from '../worker/worker.ts';

/** The file beside this one: TypeScript here, JavaScript in the package that others install. */
const WORKER = new URL(import.meta.url.replace(/gateway\/start-worker(?=\.\w+$)/, 'worker/worker'));
/** The worker needs little memory for young objects: packets allocate none, handshakes few. */
const WORKER_YOUNG_MB = 6;

/**
 * Starts a worker. It waits for its options, and until then it does not keep the process alive.
 * `warmsUp`: it compiles the packet path first, so that no packet waits: for at most 0.25 s while
 * somebody waits for the worker. `hasSockets`: that of packets that leave by sockets.
 */
export function startWorker(warmsUp = false, hasSockets = false): Worker {
  const worker = new Worker(WORKER, {
    workerData: { warmsUp, hasSockets } satisfies WorkerStart,
    resourceLimits: { maxYoungGenerationSizeMb: WORKER_YOUNG_MB },
  });
  worker.unref();
  return worker;
}

/** Starts all workers of a gateway; as many warm up as there are cores, because more delay it. */
export function startWorkers(wanted: WorkersWanted, warmsUp: boolean): Worker[] {
  const cores = availableParallelism();
  return Array.from({ length: workersOf(wanted) }, (_, i) =>
    startWorker(warmsUp && i < cores, wanted.hasSockets),
  );
}
