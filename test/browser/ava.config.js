// The tests in a real browser, one file after the other: two cores carry one Chromium.
import { withoutAlone } from '../support/suite/alone.ts';
import { processes } from '../support/suite/processes.js';

export default {
  ...processes,
  extensions: ['ts'],
  files: ['test/browser/**/*.test.ts', ...withoutAlone],
  concurrency: 1,
  timeout: '3m',
};
