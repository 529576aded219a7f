// A worker that counts an internal error with each part of a sample, and fails in the middle of its
// second sample.

import { Pipeline } from '../../../dataplane/worker/pipeline.ts';
import { reasons } from '../../../dataplane/reasons.ts';

const samplePart = Reflect.get(Pipeline.prototype, 'samplePart') as Pipeline['samplePart'];
let parts = 0;

Pipeline.prototype.samplePart = function () {
  parts++;
  if (parts === 3) throw new Error('nobody thought of this');
  this.drop(reasons.internal_error);
  const part = Reflect.apply(samplePart, this, []);
  return parts === 2 ? { ...part, isLast: false } : part;
};
await import('../../../dataplane/worker/worker.ts');
