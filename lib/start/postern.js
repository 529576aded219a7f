// What the launcher (`postern`, beside this file) runs.

import { existsSync } from 'node:fs';
import process from 'node:process';
import { oldNodeError } from './node-version.js';

const error = oldNodeError();
if (error === null) {
  // The package holds JavaScript, because Node strips no types under node_modules.
  const main = ['./main.ts', './main.js'].map((name) => new URL(name, import.meta.url));
  await import((main.find((url) => existsSync(url)) ?? main[0]).href);
} else {
  process.stderr.write(`${error}\n`);
  process.exitCode = 1;
}
