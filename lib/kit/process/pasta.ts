// Watches pasta, which connects a gateway without root to its host (lib/start/rootless). A device
// can make the pasta of Debian 12 loop without end: it computes, and neither takes nor gives a
// packet. It is killed then, and lib/start/rootless starts it again.

import { readFileSync } from 'node:fs';
import process from 'node:process';
import type { Counters } from './counters.ts';
import type { Log } from './log.ts';

const LOOK_MS = 5_000;
/** How many looks in a row must find that it hangs. */
const LOOKS = 2;
/** CPU seconds in each second. On a busy machine a pasta that loops may get no more of a core. */
const BUSY = 0.25;
/** CPU time is counted in hundredths of a second (proc(5), USER_HZ). */
const TICKS_PER_SECOND = 100;

/** What is seen of pasta at one time. */
export interface PastaLook {
  readonly pid: number;
  /** CPU seconds that it has used. */
  readonly cpuSeconds: number;
  /** Packets that it took from the gateway's network namespace, and gave to it. */
  readonly packets: number;
  /** Monotonic time in ms. */
  readonly atMs: number;
}

/** `hung`: it hung for some looks in a row and must be killed. `ended`: another one runs now. */
export type PastaEnd = 'hung' | 'ended';

/** What is to be watched. */
export interface PastaWish {
  /** The file that holds the number of the process; null: there is no pasta. */
  readonly file: string | null;
  /** The TUN, whose packets are not those of pasta. */
  readonly interfaceName: string;
  readonly log: Log;
  readonly counters: Counters;
}

/** Watches pasta until the stop. */
export function watchPasta(wish: PastaWish): { stop(): void } {
  const { file, interfaceName } = wish;
  if (file === null) return { stop: () => undefined };
  const pasta = new PastaCheck();
  const look = (): void => {
    const seen = lookAtPasta(file, interfaceName);
    if (seen !== null) act(pasta.check(seen), seen.pid, wish);
  };
  look();
  const timer = setInterval(look, LOOK_MS).unref();
  return { stop: () => clearInterval(timer) };
}

/** Kills a pasta that hangs; counts both ends. */
function act(end: PastaEnd | null, pid: number, { log, counters }: PastaWish): void {
  if (end === null) return;
  counters.add('pasta_ends', end);
  if (end === 'ended') return;
  log.error(
    { pid },
    'pasta hangs and is started again: it uses the processor, and no packet passes it; a newer version (package passt) may not hang',
  );
  kill(pid);
}

/** Finds out from what is seen again and again whether pasta hangs, and whether it ended. */
export class PastaCheck {
  #last: PastaLook | null = null;
  #hung = 0;

  /** Takes one look; null: pasta runs well, as far as it is known. */
  check(look: PastaLook): PastaEnd | null {
    const last = this.#last;
    const wasKilled = this.#hung >= LOOKS;
    this.#last = look;
    if (last === null || last.pid !== look.pid) {
      this.#hung = 0;
      return last === null || wasKilled ? null : 'ended';
    }
    const hangs =
      last.packets === look.packets &&
      look.cpuSeconds - last.cpuSeconds >= (BUSY * (look.atMs - last.atMs)) / 1_000;
    this.#hung = hangs ? this.#hung + 1 : 0;
    return this.#hung >= LOOKS ? 'hung' : null;
  }
}

/** Looks at pasta; null where there is nothing to see. */
function lookAtPasta(file: string, interfaceName: string): PastaLook | null {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    const cpuSeconds = cpuSecondsIn(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    const packets = packetsIn(readFileSync('/proc/net/dev', 'utf8'), interfaceName);
    return { pid, cpuSeconds, packets, atMs: performance.now() };
  } catch {
    // It ends, or is just started again.
    return null;
  }
}

/** CPU seconds in the text of `/proc/PID/stat` (proc(5): utime and stime). */
export function cpuSecondsIn(text: string): number {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Packets, both ways, of the interfaces in `/proc/net/dev` (proc(5)) but the loopback and one. */
export function packetsIn(text: string, interfaceName: string): number {
  let packets = 0;
  for (const line of text.split('\n')) {
    const [, name, rest = ''] = /^\s*(\S+):\s*(.*)$/.exec(line) ?? [];
    if (name === undefined || name === 'lo' || name === interfaceName) continue;
    const columns = rest.split(/\s+/);
    packets += Number(columns[1]) + Number(columns[9]);
  }
  return packets;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
