// The tests of operation as test/all.sh runs them, in rows by their first letter: the files of a row
// share a process (../support/suite/sharing.ts).
import process from 'node:process';
import { findTests, share } from '../support/suite/sharing.ts';
import all from './ava.config.js';

const row = process.env.OPS_ROW ?? 'a-z';
const files = findTests(all.files).filter((file) => new RegExp(`^test/ops/[${row}]`).test(file));
export default { ...all, files: share(`ops-${row}`, files, 1) };
