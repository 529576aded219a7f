// What the kernel of a host sees: the packets of an interface, written down by tcpdump, and the
// program that sets and shows its tables.

import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Host, stop } from './namespaces.ts';
import { until } from '../gateway/postern.ts';

/** By path: a package among the development dependencies brings another program of that name. */
export const NFT = '/usr/sbin/nft';
const FILE_HEADER_BYTES = 24;
const PACKET_HEADER_BYTES = 16;
const ETHERNET = 1;
const ETHERNET_HEADER_BYTES = 14;

/** Waits until a tcpdump that has just been started misses no packet. */
export async function listens(tcpdump: ChildProcess): Promise<void> {
  let said = '';
  tcpdump.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until('tcpdump listens', () => said.includes('listening on'));
}

/** Writes down every packet of an interface that matches, from `ready` until `stop`. */
export class Capture {
  readonly #file = join(mkdtempSync(join(tmpdir(), 'postern-capture-')), 'wire.pcap');
  readonly #tcpdump: ChildProcess;

  /** `filter` is what tcpdump takes: options such as `-Q in`, then an expression. */
  constructor(host: Host, name: string, ...filter: string[]) {
    const options = ['-i', name, '-U', '--immediate-mode', '-Z', 'root', '-w', this.#file];
    this.#tcpdump = host.start('tcpdump', [...options, ...filter]);
  }

  /** Waits until no packet is missed; to be called at once. */
  async ready(): Promise<this> {
    await listens(this.#tcpdump);
    return this;
  }

  /** The IP packets that were seen so far, in the order of their coming. */
  packets(): Buffer[] {
    return packetsIn(readFileSync(this.#file));
  }

  /** Ends it; resolves to all packets. */
  async stop(): Promise<Buffer[]> {
    await stop(this.#tcpdump);
    const packets = this.packets();
    rmSync(dirname(this.#file), { recursive: true });
    return packets;
  }
}

/** The IP packets in a pcap file (little-endian); half a packet is none. */
function packetsIn(pcap: Buffer): Buffer[] {
  const isEthernet = pcap.length >= FILE_HEADER_BYTES && pcap.readUInt32LE(20) === ETHERNET;
  const before = PACKET_HEADER_BYTES + (isEthernet ? ETHERNET_HEADER_BYTES : 0);
  const found: Buffer[] = [];
  for (let at = FILE_HEADER_BYTES; at + PACKET_HEADER_BYTES <= pcap.length;) {
    const end = at + PACKET_HEADER_BYTES + pcap.readUInt32LE(at + 8);
    if (end > pcap.length) break;
    found.push(pcap.subarray(at + before, end));
    at = end;
  }
  return found;
}
