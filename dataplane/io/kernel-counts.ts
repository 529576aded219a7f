// Reads how many packets of the gateway the kernel refused or lost, and how full its connection
// table is. The worker cannot see this, so the main thread looks every few seconds while packets
// pass.

import { readFile } from 'node:fs/promises';
import { reasonNames, reasons } from '../reasons.ts';
import type { MasqueradeCounts } from './masquerade.ts';
import { readSysctl } from './system.ts';

/** Seconds from one look to the next, while packets pass. */
const LOOK_BEATS = 5;

/** How full the kernel's table of connections is. */
export interface TableFill {
  readonly entries: number;
  readonly max: number;
}

/** What is read. */
export interface KernelCountsOptions {
  readonly listenPort: () => number;
  /** How many datagrams the sockets have lost; null if only their worker has the sockets. */
  readonly losses: () => number | null;
  /** How many TCP connections the relay had no room for. */
  readonly unrelayed: () => number;
  /** How much work the workers have begun; null while one of them works. */
  readonly work: () => number | null;
  /** What the nft table has counted; null where none is loaded, or it cannot be read. */
  readonly masquerade: () => MasqueradeCounts | null;
}

/**
 * The counts, as they were read last. They are read only if packets passed, because else none were
 * counted.
 */
export class KernelCounts {
  readonly #options: KernelCountsOptions;
  #beats = 0;
  #looking: Promise<void> = Promise.resolve();
  #drops: Readonly<Record<string, number>> = {};
  /** The work before the last look of a beat. */
  #work: number | null = null;

  constructor(options: KernelCountsOptions) {
    this.#options = options;
  }

  /** Totals by name of the reason; those of zero are left out. */
  get drops(): Readonly<Record<string, number>> {
    return this.#drops;
  }

  /** Looks now and then where there was work since; called once a second. */
  beat(): void {
    this.#beats += 1;
    if (this.#beats % LOOK_BEATS !== 0) return;
    const work = this.#options.work();
    if (work !== null && work === this.#work) return;
    this.#work = work;
    void this.look();
  }

  /** Reads the counts once; reads never overlap. */
  look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#look()).catch(() => undefined);
    return this.#looking;
  }

  /** Resolves when the current read has ended. */
  async stop(): Promise<void> {
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { losses, listenPort, unrelayed, masquerade } = this.#options;
    const lost = losses() ?? (await readSocketLosses(listenPort()));
    const counts = masquerade();
    const totals = [
      [reasons.udp_socket_full, lost],
      [reasons.kernel_untranslatable, counts?.untranslatable ?? 0],
      [reasons.kernel_too_many_flows, counts?.tooManyFlows ?? 0],
      [reasons.relay_full, unrelayed()],
    ] as const;
    this.#drops = Object.fromEntries(
      totals
        .filter(([, count]) => count > 0)
        .map(([reason, count]) => [reasonNames[reason] ?? '', count]),
    );
  }
}

/** How full the kernel's table of connections is; null where it has none. */
export function readTableFill(): TableFill | null {
  const [entries, max] = ['count', 'max'].map((name) =>
    readSysctl(`netfilter/nf_conntrack_${name}`),
  );
  if (entries == null || max == null) return null;
  return { entries: Number(entries), max: Number(max) };
}

/**
 * How many datagrams were lost since the sockets of a UDP port were opened, because the sockets had
 * no room.
 */
export async function readSocketLosses(port: number): Promise<number> {
  const tables = await Promise.all(
    ['udp', 'udp6'].map((name) => readFile(`/proc/net/${name}`, 'latin1').catch(() => '')),
  );
  return lossesIn(tables.join('\n'), port);
}

/**
 * How many datagrams a port has lost, according to the text of /proc/net/udp: in each line the
 * local address is the second field, the losses are the last one.
 */
export function lossesIn(text: string, port: number): number {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  let lost = 0;
  for (const line of text.split('\n')) {
    const fields = line.trim().split(/\s+/);
    if (fields[1]?.endsWith(end) === true) lost += Number(fields.at(-1)) || 0;
  }
  return lost;
}
