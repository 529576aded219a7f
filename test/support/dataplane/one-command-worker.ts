// A worker that counts an internal error for each command that it obeys without having looked at
// its links since the one before.

import { TwinEngine } from '../../../dataplane/io/twin.ts';
import { NativeEngine } from '../../../dataplane/native/index.ts';
import { Pipeline } from '../../../dataplane/worker/pipeline.ts';
import { reasons } from '../../../dataplane/reasons.ts';

let hasLooked = true;

for (const { prototype } of [NativeEngine, TwinEngine]) {
  const poll = Reflect.get(prototype, 'poll') as NativeEngine['poll'];
  prototype.poll = function (timeoutMs: number): number {
    hasLooked = true;
    return Reflect.apply(poll, this, [timeoutMs]);
  };
}

const release = Reflect.get(Pipeline.prototype, 'release') as Pipeline['release'];
Pipeline.prototype.release = function (...news): void {
  if (!hasLooked) this.drop(reasons.internal_error);
  hasLooked = false;
  Reflect.apply(release, this, news);
};
await import('../../../dataplane/worker/worker.ts');
