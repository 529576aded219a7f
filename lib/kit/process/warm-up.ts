// Whether the data plane compiles the packet path before it is ready.

import type { Config } from '../../../config/index.ts';

/** Whether workers compile the packet path before they are ready: that of the native engine. */
export function workersWarmUp({ dataplaneEngine, warmsUp }: Config): boolean {
  return dataplaneEngine !== 'typescript' && warmsUp;
}
