// Whether an address is in a network.

import type { NetworkRange } from '../../../dataplane/index.ts';

/** Whether an address lies in a network; host bits of the network do not count. */
export function isInside(
  address: Uint8Array,
  { network, prefixBits }: Pick<NetworkRange, 'network' | 'prefixBits'>,
): boolean {
  if (address.length !== network.length) return false;
  return address.every((byte, i) => {
    const bits = Math.min(Math.max(prefixBits - 8 * i, 0), 8);
    return (byte ^ (network[i] ?? 0)) >> (8 - bits) === 0;
  });
}
