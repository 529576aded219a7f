// One clock for all work that may wait up to a second: all listeners run at the same moment, so
// that a process at rest wakes once a second, and not once for each of them.

/** How often it beats. */
export const BEAT_MS = 1_000;

const listeners = new Set<() => void>();
let timer: NodeJS.Timeout | undefined;

/** Calls back at each beat until the function that it returns is called. */
export function eachBeat(call: () => void): () => void {
  // A function of its own, because one may ask twice for the same.
  const listener = (): void => call();
  listeners.add(listener);
  timer ??= setInterval(beat, BEAT_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function beat(): void {
  // A listener that is added during a beat is called at the next one.
  const present = new Set(listeners);
  for (const listener of present) if (listeners.has(listener)) listener();
}
