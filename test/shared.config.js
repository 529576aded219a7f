// The unit tests as test/all.sh runs them: many files share a process (support/suite/sharing.ts).
import unit from '../ava.config.js';
import { findTests, share } from './support/suite/sharing.ts';

export default { ...unit, files: share('unit', findTests(unit.files), 16) };
