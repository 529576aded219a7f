// Adds the release in dist/release to a repository for apt: `APT_KEY=FINGERPRINT npm run
// apt-repository -- FOLDER`. FOLDER/public is what a web server serves.

import { join, resolve } from 'node:path';
import process from 'node:process';
import { addToRepository, keyOf } from './release/apt.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('where? npm run apt-repository -- FOLDER');
addToRepository(resolve(folder), resolve(import.meta.dirname, '../dist/release'), keyOf());
process.stdout.write(`${join(resolve(folder), 'public')}\n`);
