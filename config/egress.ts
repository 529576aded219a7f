// Whether packets of devices may leave by sockets of the gateway, where it has no TUN.

import type { Config } from './config.ts';

type Egress = Pick<
  Config,
  | 'wireguardTun'
  | 'wireguardIpv4Enabled'
  | 'wireguardIpv4Masquerade'
  | 'wireguardIpv6Enabled'
  | 'wireguardIpv6Masquerade'
>;

/** Settings that sockets cannot obey, where sockets were asked for. */
export function egressErrors(config: Egress): string[] {
  if (config.wireguardTun !== 'sockets') return [];
  return unmasked(config).map(
    (name) =>
      `${name}=false does not go with WIREGUARD_TUN=sockets: a socket has the address of the gateway, and no device's; set ${name}=true, or WIREGUARD_TUN=required`,
  );
}

/** Why `auto` must not take sockets under these settings; null: they allow it. */
export function socketsBarred(config: Egress): string | null {
  const [name] = unmasked(config);
  return name === undefined ? null : `${name}=false, which sockets of the gateway cannot obey`;
}

/** The settings by which packets of devices are to keep their addresses. */
function unmasked(config: Egress): string[] {
  const found: string[] = [];
  if (config.wireguardIpv4Enabled && !config.wireguardIpv4Masquerade)
    found.push('WIREGUARD_IPV4_MASQUERADE');
  if (config.wireguardIpv6Enabled && !config.wireguardIpv6Masquerade)
    found.push('WIREGUARD_IPV6_MASQUERADE');
  return found;
}
