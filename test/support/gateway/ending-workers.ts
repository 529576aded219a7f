// Loaded before everything else by a gateway whose workers a test ends one by one: the worker N ends
// at once, in the middle of its work, when the file END_WORKERS/N appears.

import { existsSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { isMainThread } from 'node:worker_threads';

const folder = process.env['END_WORKERS'];
if (!isMainThread && folder !== undefined) {
  const { NativeEngine } = await import('../../../dataplane/native/index.ts');
  const { prototype } = NativeEngine;
  const poll = Object.getOwnPropertyDescriptor(prototype, 'poll')!.value as typeof prototype.poll;
  prototype.poll = function (timeoutMs) {
    // A worker hands nothing over to itself.
    const file = join(folder, `${this.handed.indexOf(null)}`);
    if (existsSync(file)) {
      unlinkSync(file);
      process.exit(1);
    }
    return poll.call(this, timeoutMs);
  };
}
