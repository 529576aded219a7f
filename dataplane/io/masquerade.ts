// Masquerading by the kernel: one nft table, loaded and removed in one transaction each. It gives
// outgoing packets the address of the gateway, drops packets of devices that the kernel cannot
// translate, and limits how much of the kernel's connection table one device takes. Why:
// decisions/2026-11-23-kernel-table.md.

import { MAX_FLOWS_PER_PEER, MAX_PEERS, TCP_CLOSED_MS, TCP_ESTABLISHED_MS } from '../constants.ts';
import type { NetworkRange } from '../wire/network.ts';
import {
  comesBy,
  comesFrom,
  comesFromSet,
  count,
  drop,
  goTo,
  hasMoreConnections,
  isInState,
  isOfFamily,
  isTcp,
  leavesBy,
  leavesByOther,
  masquerade as translate,
  opensConnection,
  setTimeouts,
  STATE,
} from './netfilter/expressions.ts';
import { fixOfRefusal, type Refusal } from './netfilter/message.ts';
import { HOOK, readCounter, tableName, Transaction } from './netfilter/table.ts';

/** Names of counters. */
const UNTRANSLATABLE = 'untranslatable';
const TOO_MANY_FLOWS = 'too_many_flows';

/** Which networks are masqueraded, and on which interface. */
export interface Masquerade {
  readonly interfaceName: string;
  readonly networks: readonly NetworkRange[];
  /** Masquerade on this interface only; null: on all but the TUN. */
  readonly egressInterface: string | null;
}

/** The result of loading the table. */
export interface Loaded {
  readonly isMasqueraded: boolean;
  /** What is missing and how to fix it; null where nothing is missing. */
  readonly error: string | null;
}

/** Packets that the table has counted since it was loaded. */
export interface MasqueradeCounts {
  readonly untranslatable: number;
  readonly tooManyFlows: number;
}

/** Loads the table. On a kernel that cannot count connections it masquerades without limits. */
export function loadMasquerade(masquerade: Masquerade): Loaded {
  const refusal = transactionOf(masquerade, 'with limits').commit();
  if (refusal === null) return { isMasqueraded: true, error: null };
  const basic = transactionOf(masquerade, 'without limits').commit();
  if (basic === null)
    return {
      isMasqueraded: true,
      error: `the kernel cannot bound how many connections one device has, so one device can fill its table: ${refusal.message}. Load its modules: modprobe -a nft_connlimit nft_ct`,
    };
  return {
    isMasqueraded: false,
    error:
      `masquerading is off, so only networks that know a way back to the devices will answer: ${basic.message}. ` +
      `To fix it: ${fixOfRefusal(basic)}; or set WIREGUARD_IPV4_MASQUERADE and WIREGUARD_IPV6_MASQUERADE to false`,
  };
}

/** Whether the table could be loaded: null, or why not. It changes nothing. */
export function tryMasquerade(masquerade: Masquerade): Refusal | null {
  return transactionOf(masquerade, 'with limits').check();
}

/** Removes the table; returns an error or null. It is no error when there is no table. */
export function removeMasquerade(interfaceName: string): string | null {
  return errorOf(new Transaction(tableName(interfaceName)).removeTable());
}

/** Reads the counters of the table; null where they cannot be read, 'gone': there is no table. */
export function readMasqueradeCounts(interfaceName: string): MasqueradeCounts | 'gone' | null {
  const table = tableName(interfaceName);
  const untranslatable = readCounter(table, UNTRANSLATABLE);
  if (typeof untranslatable !== 'number') return untranslatable;
  const tooManyFlows = readCounter(table, TOO_MANY_FLOWS);
  return typeof tooManyFlows === 'number' ? { untranslatable, tooManyFlows } : tooManyFlows;
}

/**
 * Masquerades packets from networks behind devices too, instead of from those of the last call.
 * Returns an error or null.
 */
export function masqueradeRoutes(
  { interfaceName, networks }: Masquerade,
  routes: readonly NetworkRange[],
): string | null {
  const transaction = new Transaction(tableName(interfaceName));
  for (const length of familiesOf(networks)) {
    const ofFamily = routes.filter(({ network }) => network.length === length);
    transaction.replaceNetworks(routesName(length), ofFamily);
  }
  return errorOf(transaction);
}

function errorOf(transaction: Transaction): string | null {
  return transaction.commit()?.message ?? null;
}

/** The lengths of the addresses of the families that are masqueraded. */
function familiesOf(networks: readonly NetworkRange[]): number[] {
  return [...new Set(networks.map(({ network }) => network.length))];
}

function routesName(length: number): string {
  return length === 4 ? 'routes4' : 'routes6';
}

type Limits = 'with limits' | 'without limits';

function transactionOf(masquerade: Masquerade, limits: Limits): Transaction {
  const { interfaceName, networks, egressInterface } = masquerade;
  const transaction = new Transaction(tableName(interfaceName));
  transaction.removeTable().addTable().addCounter(UNTRANSLATABLE).addCounter(TOO_MANY_FLOWS);
  const families = familiesOf(networks);
  for (const length of families) transaction.addNetworkSet(routesName(length), length);
  if (limits === 'with limits') addLimits(transaction, interfaceName);
  const leaves =
    egressInterface === null ? leavesByOther(interfaceName) : leavesBy(egressInterface);
  const sources = [
    ...networks.map(comesFrom),
    ...families.map((length) => comesFromSet(routesName(length), length)),
  ];
  const refused = [isInState(STATE.invalid | STATE.untracked), count(UNTRANSLATABLE), drop()];
  transaction.addChain('forward', HOOK.forward).addChain('postrouting', HOOK.sourceNat);
  for (const source of sources)
    transaction
      .addRule('forward', comesBy(interfaceName), leaves, source, ...refused)
      .addRule('postrouting', leaves, source, translate());
  return transaction;
}

/**
 * Limits connections by source address: the first packet of each connection from the tunnel is
 * counted. Later packets of a connection without a reply are "new" to the kernel as well; they are
 * not counted again.
 */
function addLimits(transaction: Transaction, interfaceName: string): void {
  const families = [
    [4, 'flows4', 'tcp4'],
    [16, 'flows6', 'tcp6'],
  ] as const;
  const kept = { established: TCP_ESTABLISHED_MS / 1_000, timeWait: TCP_CLOSED_MS / 1_000 };
  transaction.addChain('opened');
  for (const [length, flows, timeouts] of families) {
    const hasTooMany = hasMoreConnections(flows, length, MAX_FLOWS_PER_PEER);
    transaction
      .addCountingSet(flows, length, MAX_PEERS)
      .addTcpTimeouts(timeouts, length, kept)
      .addRule('opened', hasTooMany, count(TOO_MANY_FLOWS), drop())
      .addRule('opened', isOfFamily(length), isTcp(), setTimeouts(timeouts));
  }
  transaction
    .addChain('prerouting', HOOK.prerouting)
    .addRule('prerouting', comesBy(interfaceName), opensConnection(), goTo('opened'));
}
