// The unit tests: all that needs neither root nor a browser.
import { processes } from './test/support/suite/processes.js';
import { unitTests } from './test/support/suite/sharing.ts';

export default {
  ...processes,
  extensions: ['ts'],
  files: unitTests,
  concurrency: 2,
  timeout: '3m',
};
