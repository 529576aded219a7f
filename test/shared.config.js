// The unit tests as `npm test` and test/all.sh run them: many files share a process (support/suite/sharing.ts).
import unit from '../ava.config.js';
import { findTests, share, unitTests } from './support/suite/sharing.ts';

export default { ...unit, files: share('unit', findTests(unitTests), 8) };
