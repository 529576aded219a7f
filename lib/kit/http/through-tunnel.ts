// Devices that ask for the API or the console through the tunnel. Where the listener also listens
// on the tunnel's addresses and speaks plain HTTP, that would be a second way in beside the one of
// EXTERNAL_URL, without the proxy's TLS and without its limits. HTTP_THROUGH_TUNNEL decides.

import type { Plugin } from '@hapi/hapi';
import ipaddr from 'ipaddr.js';
import type { Config } from '../../../config/index.ts';
import type { Shared } from '../process/shared.ts';
import { cameByDoor, type Peer } from './door.ts';
import { PageError } from './page-error.ts';
import type { TrustedProxies } from './trusted-proxies.ts';
import { TunnelAddresses, type TunnelSettings } from './tunnel-addresses.ts';

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
    server.ext('onRequest', ({ raw: { req } }, h) => {
      if (!isDevice(req.socket)) return h.continue;
      throw new PageError('forbidden', SAID, { reason: 'through_tunnel' });
    });
  },
};

/** Whether devices may ask the listener through the tunnel. */
export function admitsDevices(config: Pick<Config, 'httpThroughTunnel' | 'httpTlsCert'>): boolean {
  const { httpThroughTunnel: choice, httpTlsCert } = config;
  if (choice === 'on') return true;
  return choice === 'auto' && httpTlsCert !== null;
}

/**
 * Tells devices, and who is in a network behind one, by the door or else by the address. The
 * gateway has an address in the tunnel too; a proxy may be there.
 */
export function deviceTest(
  config: TunnelSettings,
  proxies: Pick<TrustedProxies, 'trustsPeer'>,
  isBehindDevice: Options['isBehindDevice'],
): (peer: Peer) => boolean {
  const tunnel = new TunnelAddresses(config);
  const isInTunnel = (address: string): boolean =>
    tunnel.isOfDevice(address) || (isBehindDevice(bytesOf(address)) && !tunnel.isOwn(address));
  return (peer) =>
    (cameByDoor(peer) || isInTunnel(peer.remoteAddress ?? '')) && !proxies.trustsPeer(peer);
}

/** The bytes of an address; none where it is none. */
function bytesOf(address: string): Uint8Array {
  return Uint8Array.from(ipaddr.isValid(address) ? ipaddr.process(address).toByteArray() : []);
}
