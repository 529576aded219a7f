// The main job on the native engine, with a gigabyte each way.

import { mainJob } from './main-job.ts';

mainJob({ prefix: 'pn', engine: 'native', transferBytes: 1_000_000_000 });
