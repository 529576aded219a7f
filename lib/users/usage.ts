// Forgetting what users carried in months that are over.

import { type Database, forgetQuotaUsage, monthOf } from '../../models/index.ts';
import type { Chore } from '../process/hourly.ts';

/** A gateway whose clock is late may still add to the month before. */
const LATE_MS = 86_400_000;

/** Forgets the months before this one. */
export function forgetUsage(database: Database, wallMs = () => Date.now()): Chore {
  return {
    failure: 'what users carried in old months was not forgotten',
    async run() {
      await forgetQuotaUsage(database, monthOf(wallMs() - LATE_MS));
    },
  };
}
