// Forgetting what users carried in months that are over.

import { type Database, forgetQuotaUsage, JUMP_MAX_MS, monthOf } from '../../../models/index.ts';
import type { ForgettingTime } from '../../kit/process/forgetting.ts';
import type { Chore } from '../../kit/process/hourly.ts';

/** A gateway whose clock is late may add to the month before, and one may be wrong by a jump. */
const LATE_MS = 86_400_000 + JUMP_MAX_MS;

/** Forgets the months before this one. */
export function forgetUsage(database: Database, time: ForgettingTime): Chore {
  return {
    failure: 'what users carried in old months was not forgotten',
    async run() {
      await forgetQuotaUsage(database, monthOf((await time()).getTime() - LATE_MS));
    },
  };
}
