// Compares the Node of a release with what its makers signed: `npm run release:node`.

import process from 'node:process';
import { compareNode } from './release/compare-node.ts';

for (const name of compareNode()) process.stdout.write(`${name} is that of its makers\n`);
