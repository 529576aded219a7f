// The attacks as test/all.sh runs them: all files share one process (../support/suite/sharing.ts).
import { findTests, share } from '../support/suite/sharing.ts';
import all from './ava.config.js';

export default { ...all, files: share('attacks', findTests(all.files), 1) };
