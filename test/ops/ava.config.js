// The tests of operation: as root, one file after the other, with time for failures to pass. The
// container takes as long to build as all the others together, and a machine that systemd boots wants
// packages of its own, so they come with the long ones.
import process from 'node:process';
import { withoutAlone } from '../support/suite/alone.ts';
import { processes } from '../support/suite/processes.js';

const isLong = process.env.SOAK_MINUTES !== undefined;

export default {
  ...processes,
  extensions: ['ts'],
  files: [
    'test/ops/**/*.test.ts',
    ...(isLong ? [] : ['!test/ops/{container,release,unit}.test.ts']),
    ...withoutAlone,
  ],
  concurrency: 1,
  timeout: '5m',
};
