// The attacks: as root, one file after the other, against whole gateways.
import { processes } from '../support/processes.js';

export default {
  ...processes,
  extensions: ['ts'],
  files: ['test/attacks/**/*.test.ts'],
  concurrency: 1,
  timeout: '3m',
};
