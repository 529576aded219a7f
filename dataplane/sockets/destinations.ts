// Where a socket of this process may lead: never to the host itself, to none of its addresses and
// ports, and to no broadcast or multicast. A socket of this process passes by what the host's
// packet filter says of forwarded packets, so the kernel is asked about each new destination.

import type { DestinationKind, HostSockets } from '../socket-contract.ts';
import type { Ends } from '../tcp/table.ts';
import { heldIpv4, holdsIpv4, isReservedIpv4, isReservedIpv6 } from '../wire/ranges.ts';

/** Asks about destinations. */
export class Destinations {
  readonly #sockets: Pick<HostSockets, 'routeTo'>;
  readonly #address4 = new Uint8Array(4);
  readonly #address6 = new Uint8Array(16);
  readonly #view4 = new DataView(this.#address4.buffer);
  readonly #view6 = new DataView(this.#address6.buffer);

  constructor(sockets: Pick<HostSockets, 'routeTo'>) {
    this.#sockets = sockets;
  }

  /** The address at the own side of ends, in memory that the next call uses again. */
  addressOf({ isIpv6, words }: Ends): Uint8Array {
    if (!isIpv6) return this.#ipv4(words[0]!);
    for (let i = 0; i < 4; i++) this.#view6.setInt32(4 * i, words[i]!);
    return this.#address6;
  }

  #ipv4(word: number): Uint8Array {
    this.#view4.setInt32(0, word);
    return this.#address4;
  }

  /** What the own side of ends is; `unicast` alone may be reached. */
  kindOf(ends: Ends): DestinationKind {
    const { isIpv6, words } = ends;
    const [a, b, c, d] = [words[0]!, words[1]!, words[2]!, words[3]!];
    if (!isIpv6)
      return isReservedIpv4(a) ? 'local' : this.#sockets.routeTo(this.addressOf(ends)).kind;
    if (isReservedIpv6(a, b, c, d)) return 'local';
    // A translator may lead to the IPv4 address inside.
    if (holdsIpv4(a, b, c)) {
      const { kind } = this.#sockets.routeTo(this.#ipv4(heldIpv4(a, b, d)));
      if (isRefused(kind)) return kind;
    }
    return this.#sockets.routeTo(this.addressOf(ends)).kind;
  }
}

/** Whether a destination is refused: nobody but this host, or all at once, would be reached. */
export function isRefused(kind: DestinationKind): boolean {
  return kind === 'local' || kind === 'broadcast' || kind === 'multicast' || kind === 'unknown';
}
