// What the launcher (`postern`, beside this file) runs.

import { existsSync } from 'node:fs';
import process from 'node:process';
import { oldNodeFault } from './node-version.js';

const fault = oldNodeFault();
if (fault === null) {
  // The package holds JavaScript, because Node strips no types under node_modules.
  const main = ['./main.ts', './main.js'].map((name) => new URL(name, import.meta.url));
  await import((main.find((url) => existsSync(url)) ?? main[0]).href);
} else {
  process.stderr.write(`${fault}\n`);
  process.exitCode = 1;
}
