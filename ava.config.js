// The unit tests: all that needs neither root nor a browser.
import { withoutAlone } from './test/support/suite/alone.ts';
import { processes } from './test/support/suite/processes.js';

export default {
  ...processes,
  extensions: ['ts'],
  files: [
    'test/**/*.test.ts',
    '!test/e2e/**',
    '!test/browser/**',
    '!test/ops/**',
    '!test/attacks/**',
    '!test/artefacts/**',
    ...withoutAlone,
  ],
  concurrency: 2,
  timeout: '3m',
};
