// A data plane with a bug of ours: whatever a datagram is opened for, an exception comes of it.

import { TwinEngine } from '../../../dataplane/io/twin.ts';
import { NativeEngine } from '../../../dataplane/native/index.ts';

for (const { prototype } of [NativeEngine, TwinEngine])
  prototype.open = () => {
    throw new Error('nobody thought of this');
  };
await import('../../../dataplane/worker/worker.ts');
