// The tests in a real browser as test/all.sh runs them: all files share one process, and so one
// Chromium (../support/suite/sharing.ts).
import { findTests, share } from '../support/suite/sharing.ts';
import all from './ava.config.js';

export default { ...all, files: share('browser', findTests(all.files), 1) };
