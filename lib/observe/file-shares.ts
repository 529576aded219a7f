// The open files that the parts of the gateway divide among each other: how many each may have, and
// has now. Of a part that is nearly full people learn before it refuses anything.

import type { GatewayFacts } from '../../dataplane/index.ts';

/** The parts, in words for people. */
export const partsInWords = {
  requests: 'HTTP connections',
  commands: 'connections of commands of this host',
  own_address: 'connections of devices to API and console',
  sockets: 'sockets for devices',
  relay: 'relayed TCP connections of devices',
} as const;

/** A part that has a share. */
export type FilePart = keyof typeof partsInWords;

/** One share. */
export interface FileShare {
  readonly open: number;
  readonly max: number;
}

/** Shares by part; a part that there is not has none. */
export type FileShares = Readonly<Partial<Record<FilePart, FileShare>>>;

/** What listeners have open; left out: nobody listens. */
export type Listening = Partial<Record<'requests' | 'commands' | 'own_address', () => number>>;

/** From this part of a share on, it is nearly full. */
const NEARLY = 0.9;
/** A relayed connection has two files. */
const OF_RELAYED = 2;

interface Seen {
  readonly facts: GatewayFacts;
  /** As a sample has them. */
  readonly sockets: Readonly<Record<string, number>>;
  readonly listening: Listening;
}

/** The shares of all parts. */
export function fileShares({ facts, sockets, listening }: Seen): FileShares {
  const { files, workers, relayed = 0 } = facts;
  const { tcp = 0, udp = 0, echo = 0 } = sockets;
  const shares: Partial<Record<FilePart, FileShare>> = {};
  for (const part of ['requests', 'commands', 'own_address'] as const) {
    const open = listening[part];
    if (open !== undefined) shares[part] = { open: open(), max: files.connections };
  }
  if (hasSockets(facts)) shares.sockets = { open: tcp + udp + echo, max: workers * files.sockets };
  if (files.relayed > 0)
    shares.relay = { open: OF_RELAYED * relayed, max: OF_RELAYED * files.relayed };
  return shares;
}

/** The parts that are nearly full. Of sockets each worker has a share of its own. */
export function nearlyFull(seen: Seen): FilePart[] {
  const shares = fileShares(seen);
  const ofWorker = { open: seen.sockets['most'] ?? 0, max: seen.facts.files.sockets };
  const all = shares.sockets === undefined ? shares : { ...shares, sockets: ofWorker };
  return Object.entries(all)
    .filter(([, { open, max }]) => open >= NEARLY * max)
    .map(([part]) => part as FilePart);
}

/** The engine in TypeScript has sockets only in place of a TUN. */
function hasSockets({ engine, way }: GatewayFacts): boolean {
  return engine === 'native' || way === 'sockets';
}
