// A process with a gateway that nobody uses and nobody closes. It prints when it ends, in Unix ms:
// `exit` ends it by a call, `throw` by an error that nobody catches.

import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { createGateway } from '../../../dataplane/index.ts';
import { address } from '../dataplane/packets.ts';

await createGateway({
  privateKey: new Uint8Array(32).fill(7),
  timestampFloorMs: 0,
  listenPort: 0,
  interfaceName: 'postern-test',
  mtu: 1_420,
  tun: 'off',
  ipv4: { network: address('10.0.0.0'), prefixBits: 24, address: address('10.0.0.1') },
  ipv6: null,
  masqueradeIpv4: false,
  masqueradeIpv6: false,
  egressInterface: null,
  forwarding: 'off',
  uapi: 'off',
  engine: 'native',
  workers: 4,
  defaultAction: 'accept',
  allowsMetadata: false,
  log: () => undefined,
});
// Its workers have nothing to do by then, and wait.
await pause(500);
process.stdout.write(`${Date.now()}\n`);
if (process.argv[2] === 'exit') process.exit(0);
setTimeout(() => {
  throw new Error('nobody catches this');
});
