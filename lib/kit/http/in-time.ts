// Gives up work that takes too long, so that no request waits for a part of the gateway that hangs.

import { ApiError } from './errors.ts';

/** Resolves as an answer does; `service_unavailable` where it takes longer. */
export async function inTime<T>(answer: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const cause = new Error(`no answer in ${limitMs} ms`);
    const giveUp = (): void => reject(new ApiError('service_unavailable', { cause }));
    timer = setTimeout(giveUp, limitMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
