// Addresses of devices. Outside of the tunnel one customer may have a whole network, so limits
// count it as one. In the tunnel a device has one address of each family and no other, so each
// counts for itself.

import ipaddr from 'ipaddr.js';
import type { Config } from '../../../config/index.ts';
import type { NetworkRange } from '../../../dataplane/index.ts';
import { canonical, isInAny, parseRanges } from './client-address.ts';

/** The settings that say which addresses are in the tunnel. */
export type TunnelSettings = Pick<
  Config,
  | 'wireguardIpv4Enabled'
  | 'wireguardIpv4Network'
  | 'wireguardIpv4Address'
  | 'wireguardIpv6Enabled'
  | 'wireguardIpv6Network'
  | 'wireguardIpv6Address'
>;

/** The addresses inside of the tunnel of one gateway. */
export class TunnelAddresses {
  readonly #networks: readonly NetworkRange[];
  readonly #own: readonly NetworkRange[];

  constructor(config: TunnelSettings) {
    const networks = [
      ...(config.wireguardIpv4Enabled ? [config.wireguardIpv4Network] : []),
      ...(config.wireguardIpv6Enabled ? [config.wireguardIpv6Network] : []),
    ];
    this.#networks = parseRanges(networks.join(','));
    this.#own = parseRanges(`${config.wireguardIpv4Address},${config.wireguardIpv6Address}`);
  }

  /** Whether an address is the gateway's own in the tunnel; a proxy may be there. */
  isOwn(address: string): boolean {
    return isInAny(address, this.#own);
  }

  /** Whether an address is one that only a device can have. */
  isOfDevice(address: string): boolean {
    return isInAny(address, this.#networks) && !this.isOwn(address);
  }

  /** What limits by address count as one: an IPv6 /64, an IPv4 address, a device. */
  readonly scopeOf = (address: string): string => {
    const one = canonical(address) ?? address;
    return isIpv6(one) && !isInAny(one, this.#networks) ? firstParts(one, 4) : one;
  };

  /** The network that one customer may have all of: an IPv6 /48, an IPv4 /24, a device. */
  networkOf(address: string): string {
    const one = canonical(address) ?? address;
    if (isInAny(one, this.#networks)) return one;
    return isIpv6(one) ? firstParts(one, 3) : one.split('.').slice(0, 3).join('.');
  }
}

function isIpv6(address: string): boolean {
  return ipaddr.IPv6.isValid(address);
}

function firstParts(address: string, count: number): string {
  return ipaddr.IPv6.parse(address)
    .parts.slice(0, count)
    .map((part) => part.toString(16))
    .join(':');
}
