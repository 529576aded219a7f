// Makes dist/postern anew: npm run bundle. With `--if-older` only where its sources changed.

import process from 'node:process';
import { BUNDLE, isFresh, makeBundle } from './bundle.ts';

if (!process.argv.includes('--if-older') || !isFresh(BUNDLE)) await makeBundle();
