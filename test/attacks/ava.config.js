// The attacks: as root, one file after the other, against whole gateways.
import { withoutAlone } from '../support/suite/alone.ts';
import { processes } from '../support/suite/processes.js';

export default {
  ...processes,
  extensions: ['ts'],
  files: ['test/attacks/**/*.test.ts', ...withoutAlone],
  concurrency: 1,
  timeout: '3m',
};
