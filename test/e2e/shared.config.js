// The end-to-end tests as test/all.sh runs them: files share a process (../support/suite/sharing.ts).
import process from 'node:process';
import { findTests, share } from '../support/suite/sharing.ts';
import all from './ava.config.js';

const name = `e2e-${process.env.WORKERS ?? 1}`;
export default { ...all, files: share(name, findTests(all.files), 1) };
