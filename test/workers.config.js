// The tests of the data plane whose gateways have as many workers as WORKERS says
// (support/suite/workers.ts); with ALONE=only those of them, and of the end-to-end tests, that want
// the machine for themselves.
import process from 'node:process';
import { alone } from './support/suite/alone.ts';
import { processes } from './support/suite/processes.js';
import { share } from './support/suite/sharing.ts';
import { aloneWithWorkers, ofDataplane } from './support/suite/workers.ts';

const isTogether = (file) => !alone.includes(file);
const isAlone = process.env['ALONE'] === 'only';

export default {
  ...processes,
  extensions: ['ts'],
  files: isAlone ? aloneWithWorkers : share('dataplane', ofDataplane.filter(isTogether), 6),
  concurrency: isAlone ? 1 : 2,
  timeout: isAlone ? '5m' : '3m',
};
