// What every part of a process that serves is given. A room asks only for the members that it
// needs.

import type { Config } from '../../../config/index.ts';
import type { Database } from '../../../models/index.ts';
import type { Counters } from './counters.ts';
import type { Log } from './log.ts';

/** Settings, database, log and counters of one process. */
export interface Shared {
  readonly config: Config;
  readonly database: Database;
  readonly log: Log;
  readonly counters: Counters;
}
