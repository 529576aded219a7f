// The nft table that redirects TCP connections of devices to the relay.

import {
  comesBy,
  count,
  isOfFamily,
  isRoutedBeyond,
  isTcp,
  redirect,
} from './netfilter/expressions.ts';
import { HOOK, readCounter, tableName, Transaction } from './netfilter/table.ts';
import type { RelayPorts } from './relay.ts';

/** Name of the counter of connections that were redirected. */
const REDIRECTED = 'redirected';
/** How long addresses are. */
const LENGTH = { ipv4: 4, ipv6: 16 };

/**
 * Redirects what devices send beyond the gateway. Where no route leads there the kernel answers as
 * without the relay, so that a device can try the other family. Returns an error or null.
 */
export function loadRelayTable(interfaceName: string, ports: RelayPorts): string | null {
  const transaction = transactionOn(interfaceName).removeTable().addTable();
  transaction.addCounter(REDIRECTED).addChain('prerouting', HOOK.destinationNat);
  for (const family of ['ipv4', 'ipv6'] as const) {
    const port = ports[family];
    if (port === null) continue;
    const isOpened = [comesBy(interfaceName), isOfFamily(LENGTH[family]), isTcp()];
    transaction.addRule(
      'prerouting',
      ...isOpened,
      isRoutedBeyond(),
      count(REDIRECTED),
      redirect(port),
    );
  }
  return transaction.commit()?.message ?? null;
}

/** Whether there is no table; false where that is not known. */
export function isRelayTableGone(interfaceName: string): boolean {
  return readCounter(nameOf(interfaceName), REDIRECTED) === 'gone';
}

/**
 * Removes the table; new connections are forwarded then. Returns an error or null; it is none when
 * there is no table.
 */
export function removeRelayTable(interfaceName: string): string | null {
  return transactionOn(interfaceName).removeTable().commit()?.message ?? null;
}

function transactionOn(interfaceName: string): Transaction {
  return new Transaction(nameOf(interfaceName));
}

function nameOf(interfaceName: string): string {
  return tableName(interfaceName, 'postern-relay');
}
