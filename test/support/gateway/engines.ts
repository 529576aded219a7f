// Which engines whole gateways are tested with. The engine in TypeScript has one worker always, so
// where the tests run again with several (../suite/workers.ts) it would only repeat what it did.

import process from 'node:process';
import { way } from '../suite/ways.ts';

/** Whether the tests run again with several workers. */
export const hasSeveralWorkers = Number(process.env['WORKERS'] ?? 1) > 1;

/**
 * The engines with which a test runs that has as many workers as WORKERS says. With sockets the
 * engine in TypeScript does not ping, as most tests do.
 */
export const enginesOfRun =
  hasSeveralWorkers || way === 'sockets'
    ? (['native'] as const)
    : (['native', 'typescript'] as const);
