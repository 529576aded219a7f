// Masquerading by the kernel: one nft table, loaded and removed in one transaction each. It gives
// outgoing packets the address of the gateway, drops packets of devices that the kernel cannot
// translate, and limits how much of the kernel's connection table one device takes. Why:
// decisions/2026-11-23-kernel-table.md.

import { MAX_FLOWS_PER_PEER, MAX_PEERS, TCP_CLOSED_MS, TCP_ESTABLISHED_MS } from '../constants.ts';
import { formatNetwork, type NetworkRange } from '../wire/network.ts';
import { fixOfNft, nft, readCounter, runNft, tableName } from './nft.ts';

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
  readonly fault: string | null;
}

/** Packets that the table has counted since it was loaded. */
export interface MasqueradeCounts {
  readonly untranslatable: number;
  readonly tooManyFlows: number;
}

/** Loads the table. On a kernel that cannot count connections it masquerades without limits. */
export async function loadMasquerade(masquerade: Masquerade): Promise<Loaded> {
  const fault = await nft(scriptOf(masquerade, 'with limits'));
  if (fault === null) return { isMasqueraded: true, fault };
  const basicFault = await nft(scriptOf(masquerade, 'without limits'));
  if (basicFault === null)
    return {
      isMasqueraded: true,
      fault: `the kernel cannot bound how many connections one device has, so one device can fill its table: ${fault}. Load its modules: modprobe -a nft_connlimit nft_ct`,
    };
  return {
    isMasqueraded: false,
    fault:
      `masquerading is off, so only networks that know a way back to the devices will answer: ${basicFault}. ` +
      `To fix it: ${fixOfNft(basicFault)}; or set WIREGUARD_IPV4_MASQUERADE and WIREGUARD_IPV6_MASQUERADE to false`,
  };
}

/** Whether the table could be loaded: resolves to a fault or null, and changes nothing. */
export async function tryMasquerade(masquerade: Masquerade): Promise<string | null> {
  const answer = await runNft(['--check', '-f', '-'], scriptOf(masquerade, 'with limits'));
  return 'fault' in answer ? answer.fault : null;
}

/** Removes the table; resolves to a fault or null. It is no fault when there is no table. */
export function removeMasquerade(interfaceName: string): Promise<string | null> {
  const table = tableName(interfaceName);
  return nft(`add table inet ${table}\ndelete table inet ${table}\n`);
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
 * Resolves to a fault or null.
 */
export function masqueradeRoutes(
  { interfaceName, networks }: Masquerade,
  routes: readonly NetworkRange[],
): Promise<string | null> {
  const table = tableName(interfaceName);
  const lines = familiesOf(networks).flatMap((length) => {
    const name = `inet ${table} ${routesName(length)}`;
    const elements = routes.filter(({ network }) => network.length === length).map(formatNetwork);
    return [
      `flush set ${name}`,
      ...(elements.length === 0 ? [] : [`add element ${name} { ${elements.join(', ')} }`]),
    ];
  });
  return nft(`${lines.join('\n')}\n`);
}

/** The lengths of the addresses of the families that are masqueraded. */
function familiesOf(networks: readonly NetworkRange[]): number[] {
  return [...new Set(networks.map(({ network }) => network.length))];
}

function routesName(length: number): string {
  return length === 4 ? 'routes4' : 'routes6';
}

type Limits = 'with limits' | 'without limits';

function scriptOf(masquerade: Masquerade, limits: Limits): string {
  const { interfaceName, networks, egressInterface } = masquerade;
  const table = tableName(interfaceName);
  const out =
    egressInterface === null ? `oifname != "${interfaceName}"` : `oifname "${egressInterface}"`;
  const families = familiesOf(networks);
  const from = [
    ...networks.map((range) => `${nameOf(range.network.length)} saddr ${formatNetwork(range)}`),
    ...families.map((length) => `${nameOf(length)} saddr @${routesName(length)}`),
  ];
  const sets = families.map(
    (length) =>
      `  set ${routesName(length)} { type ipv${length === 4 ? 4 : 6}_addr; flags interval; }`,
  );
  const kept = from.map(
    (source) =>
      `    iifname "${interfaceName}" ${out} ${source} ct state { invalid, untracked } counter name "${UNTRANSLATABLE}" drop`,
  );
  return `add table inet ${table}
delete table inet ${table}
table inet ${table} {
  counter ${UNTRANSLATABLE} { }
  counter ${TOO_MANY_FLOWS} { }
${sets.join('\n')}
${limits === 'with limits' ? limitsOf(interfaceName) : ''}
  chain forward {
    type filter hook forward priority filter; policy accept;
${kept.join('\n')}
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
${from.map((source) => `    ${out} ${source} masquerade`).join('\n')}
  }
}
`;
}

/** What nft calls the addresses of a family. */
function nameOf(length: number): string {
  return length === 4 ? 'ip' : 'ip6';
}

/**
 * Limits connections by source address: the first packet of each connection from the tunnel is
 * counted. Later packets of a connection without a reply are "new" to the kernel as well; they are
 * not counted again.
 */
function limitsOf(interfaceName: string): string {
  const families = [
    ['4', 'ip'],
    ['6', 'ip6'],
  ] as const;
  const policy = `established : ${TCP_ESTABLISHED_MS / 1_000}, time_wait : ${TCP_CLOSED_MS / 1_000}`;
  const parts = families.map(
    ([number, family]) => `  set flows${number} {
    type ipv${number}_addr; size ${MAX_PEERS}; flags dynamic;
  }
  ct timeout tcp${number} {
    protocol tcp; l3proto ${family}; policy = { ${policy} };
  }`,
  );
  const tooMany = `ct count over ${MAX_FLOWS_PER_PEER} } counter name "${TOO_MANY_FLOWS}" drop`;
  const rules = families.map(
    ([number, family]) =>
      `    add @flows${number} { ${family} saddr ${tooMany}
    meta nfproto ipv${number} meta l4proto tcp ct timeout set "tcp${number}"`,
  );
  return `${parts.join('\n')}
  chain opened {
${rules.join('\n')}
  }
  chain prerouting {
    type filter hook prerouting priority filter; policy accept;
    iifname "${interfaceName}" ct state new ct status & confirmed == 0 goto opened
  }`;
}
