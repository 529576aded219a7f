// Datagrams that the kernel of a host has lost: at sockets whose program came too late, and at its
// interfaces.

import type { Host } from '../support/network/namespaces.ts';

/** The counters, by where it lost them. */
export interface KernelLosses {
  readonly sockets: number;
  readonly interfaces: number;
}

/** Asks a host. */
export async function kernelLosses(host: Host): Promise<KernelLosses> {
  const read = async (name: string): Promise<string> =>
    (await host.run('cat', `/proc/net/${name}`)).stdout;
  const [snmp, snmp6, dev] = await Promise.all(['snmp', 'snmp6', 'dev'].map(read));
  return lossesOf(snmp!, snmp6!, dev!);
}

/** Reads the texts of `/proc/net`. */
export function lossesOf(snmp: string, snmp6: string, dev: string): KernelLosses {
  const [names = [], values = []] = snmp
    .split('\n')
    .filter((line) => line.startsWith('Udp:'))
    .map((line) => line.split(' '));
  const four = ['RcvbufErrors', 'SndbufErrors'].map((name) => Number(values[names.indexOf(name)]));
  const six = [...snmp6.matchAll(/^Udp6(?:Rcv|Snd)bufErrors\s+(\d+)$/gm)].map(([, n]) => Number(n));
  // A name, and then eight counters of what came and eight of what left; the fourth is `drop`.
  const interfaces = [...dev.matchAll(/^\s*(\S+):\s*(.+)$/gm)]
    .filter(([, name]) => name !== 'lo')
    .map(([, , text]) => text!.trim().split(/\s+/).map(Number))
    .map((counters) => counters[3]! + counters[11]!);
  return { sockets: sum([...four, ...six]), interfaces: sum(interfaces) };
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
