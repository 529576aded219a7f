// The files that want the machine for themselves (support/suite/alone.ts), one after the other.
import { alone } from './support/suite/alone.ts';
import { processes } from './support/suite/processes.js';

export default {
  ...processes,
  extensions: ['ts'],
  files: alone,
  concurrency: 1,
  timeout: '5m',
};
