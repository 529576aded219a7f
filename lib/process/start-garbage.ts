// What a start leaves in the main thread's heap: rows on their way to the data plane, a third of it
// with 10,000 devices, which V8 would keep for hours. It is collected once the clients are back;
// that takes this thread 1 ms for each MB that lives. Only the program does so: where a gateway is
// part of another's process, in a test say, the heap is not its own.

/** Some seconds after the last of 10,000 clients is served again. */
const CLIENTS_BACK_MS = 10_000;

/** Collects once, later; without `--expose-gc` all is left to V8. */
export function collectLater(
  collect: (() => void) | null = globalThis.gc ?? null,
  afterMs = CLIENTS_BACK_MS,
): { stop(): void } {
  const timer = setTimeout(() => collect?.(), afterMs).unref();
  return { stop: () => clearTimeout(timer) };
}
