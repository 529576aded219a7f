// Leaves postern-<version>.tgz, the package for tests of other projects, in this folder: `npm run
// package`. Its addon is that of this checkout; a release has it for each kind of machine.

import process from 'node:process';
import { ownAddon, packTesting } from './package.ts';

await packTesting(process.cwd(), { addons: ownAddon() });
