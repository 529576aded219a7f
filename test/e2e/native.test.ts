// The main job on the native engine. A hundred megabytes each way are more than 2^16 packets, so that
// counters of 16 bits turn over; with `BYTES=all` it is a gigabyte, with one worker.

import process from 'node:process';
import { hasSeveralWorkers } from '../support/gateway/engines.ts';
import { mainJob } from './main-job.ts';

const isWhole = process.env['BYTES'] === 'all' && !hasSeveralWorkers;
mainJob({
  prefix: 'pn',
  engine: 'native',
  transferBytes: isWhole ? 1_000_000_000 : 100_000_000,
});
