// The tests in a real browser, one file after the other: two cores carry one Chromium.
import { processes } from '../support/processes.js';

export default {
  ...processes,
  extensions: ['ts'],
  files: ['test/browser/**/*.test.ts'],
  concurrency: 1,
  timeout: '3m',
};
