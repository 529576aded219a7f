// Ranges of TRUSTED_PROXIES that hold addresses of devices. A device is no proxy by such a range.

import ipaddr from 'ipaddr.js';
import type { Config } from './config.ts';
import { overlaps } from './networks.ts';

/** What whoever names such a range should know, for each range and network of the tunnel. */
export function proxyAdvice(config: Config): string[] {
  const tunnel = [
    ...(config.wireguardIpv4Enabled
      ? [['WIREGUARD_IPV4_NETWORK', config.wireguardIpv4Network] as const]
      : []),
    ...(config.wireguardIpv6Enabled
      ? [['WIREGUARD_IPV6_NETWORK', config.wireguardIpv6Network] as const]
      : []),
  ];
  return rangesOf(config.trustedProxies).flatMap((range) =>
    tunnel
      .filter(([, network]) => isSameFamily(range, network) && overlaps(range, network))
      .map(
        ([name, network]) =>
          `TRUSTED_PROXIES has ${range}, which overlaps ${name} (${network}): addresses in both may be devices, so none of them is a proxy by this range; name a proxy there by its exact address, or take ranges that do not overlap`,
      ),
  );
}

/** The members that are more than one address. */
function rangesOf(setting: string | null): string[] {
  return (setting ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => ipaddr.isValidCIDR(one))
    .filter((one) => {
      const [base, prefixBits] = ipaddr.parseCIDR(one);
      return prefixBits < 8 * base.toByteArray().length;
    });
}

function isSameFamily(one: string, other: string): boolean {
  return ipaddr.parseCIDR(one)[0].kind() === ipaddr.parseCIDR(other)[0].kind();
}
