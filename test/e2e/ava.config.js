// The end-to-end tests: as root, one file after the other, with time for a gigabyte.
import { withoutAlone } from '../support/suite/alone.ts';
import { withoutOneWorker } from '../support/suite/workers.ts';
import { processes } from '../support/suite/processes.js';

export default {
  ...processes,
  extensions: ['ts'],
  files: ['test/e2e/**/*.test.ts', ...withoutAlone, ...withoutOneWorker],
  concurrency: 1,
  timeout: '5m',
};
