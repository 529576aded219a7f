// How much a gateway does, also one that nobody uses.

import { readdirSync, readFileSync } from 'node:fs';

/** What the threads of a process have done since they began. */
interface Work {
  /** How often they waited in the kernel and woke. */
  readonly wakes: number;
  readonly cpuSeconds: number;
}

/** What the threads of a process have done until now, from proc(5). */
export function workOf(pid: number): Work {
  let [wakes, nanoseconds] = [0, 0];
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const read = (name: string): string =>
      readFileSync(`/proc/${pid}/task/${thread}/${name}`, 'utf8');
    wakes += Number(/^voluntary_ctxt_switches:\s*(\d+)/m.exec(read('status'))![1]);
    nanoseconds += Number(read('schedstat').split(' ')[0]);
  }
  return { wakes, cpuSeconds: nanoseconds / 1e9 };
}
