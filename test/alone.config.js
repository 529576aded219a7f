// The files that want the machine for themselves (support/alone.ts), one after the other.
import { alone } from './support/alone.ts';
import { processes } from './support/processes.js';

export default {
  ...processes,
  extensions: ['ts'],
  files: alone,
  concurrency: 1,
  timeout: '5m',
};
