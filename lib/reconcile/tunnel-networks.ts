// The networks of the tunnel as settings name them, in the data plane's words: bytes and bits.

import type { Config } from '../../config/index.ts';
import { type NetworkConfig, parseAddress } from '../../dataplane/index.ts';

/** The networks of the devices; null where a family is switched off. */
export interface Networks {
  readonly ipv4: NetworkConfig | null;
  readonly ipv6: NetworkConfig | null;
}

/** Turns the settings into the data plane's words. */
export function networksOf(config: Config): Networks {
  return {
    ipv4: config.wireguardIpv4Enabled
      ? networkOf(config.wireguardIpv4Network, config.wireguardIpv4Address)
      : null,
    ipv6: config.wireguardIpv6Enabled
      ? networkOf(config.wireguardIpv6Network, config.wireguardIpv6Address)
      : null,
  };
}

function networkOf(network: string, address: string): NetworkConfig {
  const [base = '', prefixBits = ''] = network.split('/');
  return { network: bytesOf(base), prefixBits: Number(prefixBits), address: bytesOf(address) };
}

function bytesOf(address: string): Uint8Array {
  const bytes = parseAddress(address);
  if (bytes === null) throw new Error(`${address} is no address`);
  return bytes;
}
