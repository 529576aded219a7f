// The chore that gives free pages of a SQLite file back to the disk.

import { type Database, shrinkFile } from '../../../models/index.ts';
import type { Chore } from '../process/hourly.ts';
import type { Log } from '../process/log.ts';

/** Shrinks the file after what is old was forgotten. A file that 1.0.0 made stays as it is. */
export function shrinkDatabase(database: Database, log: Log): Chore {
  return {
    failure: 'free pages of the database file were not given back',
    async run(isStopping) {
      const pages = await shrinkFile(database, isStopping);
      if (pages > 0) log.info({ pages }, 'free pages of the database file were given back');
    },
  };
}
