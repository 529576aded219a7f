// Peers that forward the requests of others although TRUSTED_PROXIES does not name them. Most are
// proxies that an administrator forgot to name, so log and dashboard say so; a stranger can send
// such headers too, so nothing else follows from them.

import type { Log } from '../process/log.ts';

/** Peers that the log names; strangers could fill it otherwise. */
const LOGGED_MAX = 10;
/** For so long after its last request the dashboard names a peer. */
const SHOWN_MS = 600_000;

/** What to say of such a peer, and what to do. */
export function unnamedProxyWords(peer: string): { text: string; fix: string } {
  return {
    text: `Requests that others forward (X-Forwarded-For) come from ${peer}, which TRUSTED_PROXIES does not name: all people behind it count as one address, and the wrong passwords of strangers make everybody wait.`,
    fix: `If this is your proxy, set TRUSTED_PROXIES=${peer} and restart. If it is not, there is nothing to do.`,
  };
}

/** Remembers them for one process. */
export class UnnamedProxies {
  readonly #log: Log;
  readonly #logged = new Set<string>();
  #last = { peer: '', atMs: -Infinity };

  constructor(log: Log) {
    this.#log = log;
  }

  /** A peer forwarded a request. */
  note(peer: string, nowMs: number = performance.now()): void {
    this.#last = { peer, atMs: nowMs };
    if (this.#logged.has(peer) || this.#logged.size >= LOGGED_MAX) return;
    this.#logged.add(peer);
    const { text, fix } = unnamedProxyWords(peer);
    this.#log.warn({ peer }, `${text} ${fix}`);
  }

  /** The peer that forwarded last, if that was a short while ago. */
  recent(nowMs: number = performance.now()): string | null {
    return nowMs - this.#last.atMs <= SHOWN_MS ? this.#last.peer : null;
  }
}
