// The tests of operation: as root, one file after the other, with time for faults to pass.
export default {
  extensions: ['ts'],
  files: ['test/ops/**/*.test.ts'],
  concurrency: 1,
  timeout: '5m',
};
