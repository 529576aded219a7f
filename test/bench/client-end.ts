// Postern's data plane as a client, for `npm run bench:e2e -- --both`: one peer, the gateway, which is
// heard to have been where it is, so that the data plane begins. A peer's allowed IPs are its own
// addresses, here those of the host in the lan; the client's own address is added beside it.
//
//   client-end.ts INTERFACE MTU PRIVATE_KEY GATEWAY_PUBLIC_KEY GATEWAY:PORT LAN_HOST

import { createGateway, parseAddress } from '../../dataplane/index.ts';

const [interfaceName = '', mtu, privateKey = '', publicKey = '', place = '', lanHost = ''] =
  process.argv.slice(2);
const [gateway = '', port] = place.split(':');
const ipv4 = parseAddress(lanHost)!;
/** In the network of the peer, so that what is sent there goes into the tunnel. */
const own = Uint8Array.from([...ipv4.subarray(0, 3), 250]);

const dataPlane = await createGateway({
  privateKey: Buffer.from(privateKey, 'base64'),
  timestampFloorMs: 0,
  listenPort: 0,
  interfaceName,
  mtu: Number(mtu),
  tun: 'required',
  ipv4: { network: ipv4, prefixBits: 24, address: own },
  ipv6: null,
  masqueradeIpv4: false,
  masqueradeIpv6: false,
  egressInterface: null,
  forwarding: 'off',
  uapi: 'off',
  engine: 'native',
  workers: 1,
  defaultAction: 'accept',
  allowsMetadata: false,
  log: (level, message) => process.stderr.write(`${level}: ${message}\n`),
});
const endpoint = { address: gateway, port: Number(port) };
const peer = {
  publicKey,
  presharedKey: new Uint8Array(32),
  ipv4,
  ipv6: null,
  scope: 'gateway',
  resume: { endpoint, heardAtMs: Date.now() },
};
await dataPlane.apply({ peers: new Map([[publicKey, peer]]), rules: new Map() });
process.once('SIGTERM', () => void dataPlane.close());
