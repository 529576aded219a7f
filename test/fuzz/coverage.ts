// What of the data plane an input reaches, as V8 counts it: which blocks of each function ran,
// once or more often. It tells the fuzzer which inputs are worth changing further.

import { type Profiler, Session } from 'node:inspector';

/** What runs of the data plane, as long as it is open. */
export class Coverage {
  readonly #session = new Session();

  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Takes the ways in which functions ran since the last call. */
  take(): Set<string> {
    const ways = new Set<string>();
    for (const { url, functions } of this.#read()) {
      if (!url.includes('/dataplane/')) continue;
      for (const { ranges } of functions)
        if ((ranges[0]?.count ?? 0) > 0) ways.add(`${url} ${ranges.map(textOf).join(' ')}`);
    }
    return ways;
  }

  // A session of this thread answers before `post` returns.
  #read(): readonly Profiler.ScriptCoverage[] {
    let result: readonly Profiler.ScriptCoverage[] = [];
    this.#session.post('Profiler.takePreciseCoverage', (error, answer) => {
      if (error !== null) throw error;
      result = answer.result;
    });
    return result;
  }

  close(): void {
    this.#session.disconnect();
  }
}

/** A range is named only where it ran more or less often than what is around it. */
function textOf({ startOffset, endOffset, count }: Profiler.CoverageRange): string {
  return `${startOffset}-${endOffset}:${Math.min(count, 2)}`;
}
