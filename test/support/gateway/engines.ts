// Which engines whole gateways are tested with. The engine in TypeScript has one worker always, so
// where the tests run again with several (../suite/workers.ts) it would only repeat what it did.

import process from 'node:process';

/** Whether the tests run again with several workers. */
export const hasSeveralWorkers = Number(process.env['WORKERS'] ?? 1) > 1;

/** The engines with which a test runs that has as many workers as WORKERS says. */
export const enginesOfRun = hasSeveralWorkers
  ? (['native'] as const)
  : (['native', 'typescript'] as const);
