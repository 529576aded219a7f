// Watches pasta, which connects a gateway without root to its host (lib/rootless). A device can
// make the pasta of Debian 12 loop without end: it computes, and neither takes nor gives a packet.
// It is killed then, and lib/rootless starts it again.

import { readFileSync } from 'node:fs';
import process from 'node:process';
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

/** What is to be watched. */
export interface PastaWish {
  /** The file that holds the number of the process; null: there is no pasta. */
  readonly file: string | null;
  /** The TUN, whose packets are not those of pasta. */
  readonly interfaceName: string;
  readonly log: Log;
}

/** Watches pasta until the stop. */
export function watchPasta({ file, interfaceName, log }: PastaWish): { stop(): void } {
  if (file === null) return { stop: () => undefined };
  const pasta = new PastaJudge();
  const timer = setInterval(() => {
    const look = lookAtPasta(file, interfaceName);
    if (look === null || !pasta.judge(look)) return;
    log.error(
      { pid: look.pid },
      'pasta hangs and is started again: it computes, and no packet passes it; a newer one (package passt) may not hang',
    );
    kill(look.pid);
  }, LOOK_MS).unref();
  return { stop: () => clearInterval(timer) };
}

/** Finds out from what is seen again and again whether pasta hangs. */
export class PastaJudge {
  #last: PastaLook | null = null;
  #hung = 0;

  /** Returns true when it has hung for some looks in a row. */
  judge(look: PastaLook): boolean {
    const last = this.#last;
    this.#last = look;
    const hangs =
      last?.pid === look.pid &&
      last.packets === look.packets &&
      look.cpuSeconds - last.cpuSeconds >= (BUSY * (look.atMs - last.atMs)) / 1_000;
    this.#hung = hangs ? this.#hung + 1 : 0;
    return this.#hung >= LOOKS;
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
