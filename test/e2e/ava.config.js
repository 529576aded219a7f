// The end-to-end tests: as root, one file after the other, with time for a gigabyte.
import { withoutAlone } from '../support/suite/alone.ts';
import { withoutOneWorker } from '../support/suite/workers.ts';
import { processes } from '../support/suite/processes.js';
import { titlesOfWay, withoutOwnWay } from './ways.ts';

export default {
  ...processes,
  ...titlesOfWay,
  extensions: ['ts'],
  files: ['test/e2e/**/*.test.ts', ...withoutAlone, ...withoutOneWorker, ...withoutOwnWay],
  concurrency: 1,
  timeout: '5m',
};
