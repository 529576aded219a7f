// Devices that ask for the API or the console through the tunnel. Where the listener also listens
// on the tunnel's addresses and speaks plain HTTP, that would be a second way in beside the one of
// EXTERNAL_URL, without the proxy's TLS and without its limits. HTTP_THROUGH_TUNNEL decides.

import type { Plugin } from '@hapi/hapi';
import ipaddr from 'ipaddr.js';
import type { Config } from '../../../config/index.ts';
import type { Shared } from '../process/shared.ts';
import { PageError } from './page-error.ts';
import { isInAny, parseRanges } from './client-address.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

const SAID = {
  title: 'Not through the tunnel',
  text: 'This address does not show the console to devices of the VPN, because the connection has no TLS. Use the public address of the console, or ask an administrator to set HTTP_THROUGH_TUNNEL=on.',
};

interface Options extends Pick<Shared, 'config'> {
  readonly proxies: TrustedProxies;
  /** Whether the host reaches an address, 4 or 16 bytes, through a device. */
  readonly isBehindDevice: (address: Uint8Array) => boolean;
}

/** Refuses requests of devices, and of who is behind one, before anything of them is read. */
export const throughTunnel: Plugin<Options> = {
  name: 'through-tunnel',
  register(server, { config, proxies, isBehindDevice }) {
    if (admitsDevices(config)) return;
    const isDevice = deviceTest(config, proxies, isBehindDevice);
    server.ext('onRequest', ({ info }, h) => {
      const { remoteAddress = '' } = info as { remoteAddress?: string };
      if (!isDevice(remoteAddress)) return h.continue;
      throw new PageError('forbidden', SAID, { reason: 'through_tunnel' });
    });
  },
};

/** Whether devices may ask the listener through the tunnel; without a TUN none can. */
export function admitsDevices(
  config: Pick<Config, 'httpThroughTunnel' | 'httpTlsCert' | 'wireguardTun'>,
): boolean {
  const { httpThroughTunnel: choice, httpTlsCert, wireguardTun } = config;
  if (wireguardTun === 'off' || choice === 'on') return true;
  return choice === 'auto' && httpTlsCert !== null;
}

/**
 * Tells the addresses of devices and of networks behind them. The gateway has one in the tunnel
 * too; a proxy may be there.
 */
export function deviceTest(
  config: Pick<
    Config,
    | 'wireguardIpv4Enabled'
    | 'wireguardIpv4Network'
    | 'wireguardIpv4Address'
    | 'wireguardIpv6Enabled'
    | 'wireguardIpv6Network'
    | 'wireguardIpv6Address'
  >,
  proxies: Pick<TrustedProxies, 'ranges'>,
  isBehindDevice: Options['isBehindDevice'],
): (address: string) => boolean {
  const networks = [
    ...(config.wireguardIpv4Enabled ? [config.wireguardIpv4Network] : []),
    ...(config.wireguardIpv6Enabled ? [config.wireguardIpv6Network] : []),
  ];
  const tunnel = parseRanges(networks.join(','));
  const own = parseRanges(`${config.wireguardIpv4Address},${config.wireguardIpv6Address}`);
  return (address) =>
    (isInAny(address, tunnel) || isBehindDevice(bytesOf(address))) &&
    !isInAny(address, own) &&
    !isInAny(address, proxies.ranges);
}

/** The bytes of an address; none where it is none. */
function bytesOf(address: string): Uint8Array {
  return Uint8Array.from(ipaddr.isValid(address) ? ipaddr.process(address).toByteArray() : []);
}
