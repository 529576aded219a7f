// The main job on the TypeScript engine: the same checks, but the throughput. Twelve megabytes are
// more packets than the replay window spans.

import { mainJob } from './main-job.ts';

mainJob({ prefix: 'pt', engine: 'typescript', transferBytes: 12_000_000 });
