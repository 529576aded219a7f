// A thread that inspects the host once and ends: reading the rules of a host with thousands of them
// takes time, which the thread that answers requests does not have.

import { parentPort, workerData } from 'node:worker_threads';
import { inspectHost } from '../../../dataplane/index.ts';
import type { Inspected } from './host.ts';

parentPort?.postMessage(await inspectHost(workerData as Inspected));
