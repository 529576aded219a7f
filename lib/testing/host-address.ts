// Where hosts behind the TUN cannot be: in the networks inside the tunnel. Packets to these
// networks go to the gateway itself or to a device, so nobody would ever reach such a host.

import { BlockList, isIP, isIPv4 } from 'node:net';
import type { Config } from '../../config/index.ts';
import { formatAddress } from '../../dataplane/index.ts';
import { networksOf } from '../reconcile/tunnel-networks.ts';

/** Refuses an address, as `formatAddress` writes it, that a host behind the TUN cannot have. */
export function refuseInsideTunnel(address: string, config: Config): void {
  const family = isIPv4(address) ? 'ipv4' : 'ipv6';
  const inside = networksOf(config)[family];
  if (inside === null) return;
  if (formatAddress(inside.address) === address)
    throw new TypeError(
      `${address} is the gateway’s own address, where it answers already; give the host another one`,
    );
  const network = new BlockList();
  network.addSubnet(formatAddress(inside.network), inside.prefixBits, family);
  if (!network.check(address, family)) return;
  const setting = `WIREGUARD_${family === 'ipv4' ? 'IPV4' : 'IPV6'}_NETWORK`;
  throw new TypeError(
    `${address} is for a device, because it is in ${setting}; give the host an address outside, or make the device: addDevice({ ${family}: '${address}' })`,
  );
}

const FORWARD = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/;
const PORT_MAX = 65_535;

/** Reads where a real server is: `127.0.0.1:5432`, `[::1]:5432`. */
export function spotOf(text: string): { address: string; port: number } {
  const [, inBrackets, plain, digits] = FORWARD.exec(text) ?? [];
  const address = inBrackets ?? plain ?? '';
  const port = Number(digits);
  if (isIP(address) === 0 || port < 1 || port > PORT_MAX)
    throw new TypeError(`forward is an address and a port, such as 127.0.0.1:5432, not ${text}`);
  return { address, port };
}
