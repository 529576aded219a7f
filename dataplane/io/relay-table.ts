// The nft table that redirects TCP connections of devices to the relay.

import { nft, readCounter, tableName } from './nft.ts';
import type { RelayPorts } from './relay.ts';

/** Name of the counter of connections that were redirected. */
const REDIRECTED = 'redirected';

/**
 * Redirects what devices send beyond the gateway. Where no route leads there the kernel answers as
 * without the relay, so that a device can try the other family. Resolves to a fault or null.
 */
export function loadRelayTable(interfaceName: string, ports: RelayPorts): Promise<string | null> {
  const rules = Object.entries(ports).map(([family, port]) =>
    port === null
      ? ''
      : `    iifname "${interfaceName}" meta nfproto ${family} meta l4proto tcp fib daddr type != local fib daddr oif exists counter name "${REDIRECTED}" redirect to :${port}`,
  );
  return nft(`${removal(interfaceName)}table inet ${nameOf(interfaceName)} {
  counter ${REDIRECTED} { }
  chain prerouting {
    type nat hook prerouting priority dstnat; policy accept;
${rules.join('\n')}
  }
}
`);
}

/** Whether there is no table; false where that is not known. */
export function isRelayTableGone(interfaceName: string): boolean {
  return readCounter(nameOf(interfaceName), REDIRECTED) === 'gone';
}

/** Removes the table; new connections are forwarded then. Resolves to a fault or null. */
export function removeRelayTable(interfaceName: string): Promise<string | null> {
  return nft(removal(interfaceName));
}

/** It is no fault when there is no table. */
function removal(interfaceName: string): string {
  const table = nameOf(interfaceName);
  return `add table inet ${table}\ndelete table inet ${table}\n`;
}

function nameOf(interfaceName: string): string {
  return tableName(interfaceName, 'postern-relay');
}
