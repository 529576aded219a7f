// The main job on the TypeScript engine: the same checks, but the throughput.

import { mainJob } from './main-job.ts';

mainJob({ prefix: 'pt', engine: 'typescript', transferBytes: 20_000_000 });
