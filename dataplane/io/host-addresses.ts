// The addresses of the host. A gateway without root has a network namespace of its own, but the
// packets of devices leave from sockets in the namespace of the host. The addresses of that
// namespace are read through a process in it, because /proc shows the network of the process that
// is asked about.

import { readFileSync } from 'node:fs';
import type { HostAddresses } from '../contract.ts';
import { parseAddress } from '../wire/address.ts';
import { readLocalAddresses } from './system.ts';

const NONE: HostAddresses = { here: [], outside: [] };

/**
 * Reads the addresses of the host; returns `before` itself where they have not changed. Addresses
 * that cannot be read (EMFILE) count as unchanged. `hostProcess`: number of a process in the
 * namespace of the host; null or left out: this process is there.
 */
export function readHostAddresses(
  hostProcess: number | null = null,
  before: HostAddresses = NONE,
): HostAddresses {
  const here = orElse(readLocalAddresses, before.here);
  const outside =
    hostProcess === null ? [] : orElse(() => addressesOf(hostProcess), before.outside);
  const isHere = new Set(here.map(String));
  const read = { here, outside: outside.filter((address) => !isHere.has(String(address))) };
  return addressesText(read) === addressesText(before) ? before : read;
}

function orElse<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

function addressesText({ here, outside }: HostAddresses): string {
  return `${here.join(' ')}, ${outside.join(' ')}`;
}

/**
 * Reads the addresses of the network namespace in which a process is, 4 or 16 bytes each; throws
 * where they cannot be read.
 */
export function addressesOf(process: number): Uint8Array[] {
  const read = (name: string): string => readFileSync(`/proc/${process}/net/${name}`, 'utf8');
  return [...addressesOfTrie(read('fib_trie')), ...addressesOfInet6(read('if_inet6'))];
}

/** The IPv4 addresses in the routing tables that `/proc/net/fib_trie` shows (proc(5)). */
export function addressesOfTrie(text: string): Uint8Array[] {
  const found = text.matchAll(/\|-- (\S+)\n\s+\/32 host LOCAL/g);
  const addresses = new Set(Array.from(found, ([, address = '']) => address));
  return Array.from(addresses, parseAddress).filter((address) => address !== null);
}

/** The IPv6 addresses of `/proc/net/if_inet6` (proc(5)). */
export function addressesOfInet6(text: string): Uint8Array[] {
  const found = text.matchAll(/^([0-9a-f]{32}) /gm);
  return Array.from(found, ([, hex = '']) => new Uint8Array(Buffer.from(hex, 'hex')));
}
