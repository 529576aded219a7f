// The main job on the native engine, with a gigabyte each way; again with several workers, where a
// fifth of it goes through the same hands.

import { hasSeveralWorkers } from '../support/gateway/engines.ts';
import { mainJob } from './main-job.ts';

const transferBytes = hasSeveralWorkers ? 200_000_000 : 1_000_000_000;
mainJob({ prefix: 'pn', engine: 'native', transferBytes });
