// What the kernel refused or lost of the gateway's packets, and how full its table of connections
// is. The worker sees nothing of it, so the main thread looks every few seconds.

import { readFile } from 'node:fs/promises';
import { reasonNames, reasons } from '../reasons.ts';
import { readMasqueradeCounts } from './masquerade.ts';
import { readSysctl } from './system.ts';

const LOOK_MS = 5_000;

/** How full the kernel's table of connections is. */
export interface TableFill {
  readonly entries: number;
  readonly max: number;
}

/** What is looked at. */
export interface KernelCountsOptions {
  readonly listenPort: () => number;
  /** The TUN whose nft table is loaded; null where none is. */
  readonly masqueraded: () => string | null;
}

/** The counts as of the last look. */
export class KernelCounts {
  readonly #options: KernelCountsOptions;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> = Promise.resolve();
  #drops: Readonly<Record<string, number>> = {};
  #fill: TableFill | null = null;

  constructor(options: KernelCountsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  /** Totals by the names of reasons; zero ones are left out. */
  get drops(): Readonly<Record<string, number>> {
    return this.#drops;
  }

  /** Null where the kernel tracks no connections. */
  get fill(): TableFill | null {
    return this.#fill;
  }

  /** Looks once; one look at a time. */
  look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#look()).catch(() => undefined);
    return this.#looking;
  }

  /** Ends with the look that is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    const tun = this.#options.masqueraded();
    const [lost, counts] = await Promise.all([
      readSocketLosses(this.#options.listenPort()),
      tun === null ? null : readMasqueradeCounts(tun),
    ]);
    const totals = [
      [reasons.udp_socket_full, lost],
      [reasons.kernel_untranslatable, counts?.untranslatable ?? 0],
      [reasons.kernel_too_many_flows, counts?.tooManyFlows ?? 0],
    ] as const;
    this.#drops = Object.fromEntries(
      totals
        .filter(([, count]) => count > 0)
        .map(([reason, count]) => [reasonNames[reason] ?? '', count]),
    );
    this.#fill = readTableFill();
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

/** Datagrams that the sockets of a UDP port had no room for since they were opened. */
export async function readSocketLosses(port: number): Promise<number> {
  const tables = await Promise.all(
    ['udp', 'udp6'].map((name) => readFile(`/proc/net/${name}`, 'latin1').catch(() => '')),
  );
  return lossesIn(tables.join('\n'), port);
}

/** The same, of the text of /proc/net/udp: the local address is second, the losses are last. */
export function lossesIn(text: string, port: number): number {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  let lost = 0;
  for (const line of text.split('\n')) {
    const fields = line.trim().split(/\s+/);
    if (fields[1]?.endsWith(end) === true) lost += Number(fields.at(-1)) || 0;
  }
  return lost;
}
