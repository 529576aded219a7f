// Leaves postern-client-<version>.tgz, the client for TypeScript, in this folder: `npm run
// package:client`.

import process from 'node:process';
import { version } from '../lib/kit/process/version.ts';
import { packClient } from './client.ts';

packClient(process.cwd(), version);
