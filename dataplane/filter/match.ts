// Finds in compiled tables the rule that decides about a packet: in the tables of one scope, or in
// the tables of all groups, where only the groups of the sender count. Never allocates.

import { type InnerPacket, isIcmp, PROTOCOL_TCP, PROTOCOL_UDP } from '../wire/ip.ts';
import type { CompiledTable } from './compile.ts';
import { find } from './find.ts';
import { ICMP_ACCEPT, KINDS, TCP_ACCEPT, TCP_DROP, UDP_ACCEPT } from './ports.ts';

/** The rules in force of one address family, in pieces that follow each other. */
export interface Family {
  readonly words: 1 | 4;
  /** First address of each piece; the first one is zero. */
  readonly firsts: Uint32Array;
  readonly pieces: readonly CompiledTable[];
}

/** In place of a match: no rule decides. */
export const NO_MATCH = -1;

/** The classes of rules, in the order in which they are asked; those that drop are odd. */
const ACCEPT_PORT = 0;
const DROP_PORT = 1;
const ACCEPT = 2;
const DROP = 3;
const CLASS_BITS = 2;
const CLASS_MASK = (1 << CLASS_BITS) - 1;

/** The number of the rule of a match. */
export function ruleOf(match: number): number {
  return match >> CLASS_BITS;
}

/** Whether the rule of a match drops. */
export function dropsBy(match: number): boolean {
  return (match & 1) !== 0;
}

/** The class of the rule of a match. */
export function classOf(match: number): number {
  return match & CLASS_MASK;
}

/** The number of the rule that decides, then its class; or NO_MATCH. */
export function decideIn(family: Family, packet: InnerPacket): number {
  const table = family.pieces[find(family.firsts, family.words, packet)]!;
  const interval = find(table.starts, family.words, packet);
  const node = table.nodes[interval]!;
  if (node === -1) return NO_MATCH;
  const kind = table.portNodes[node] === -1 ? NO_KIND : kindOf(packet);
  if (kind !== NO_KIND) {
    const port = kind === ICMP_ACCEPT ? 0 : packet.destinationPort;
    const accepted = findPort(table, node, kind, port);
    if (accepted !== NO_MATCH) return (accepted << CLASS_BITS) | ACCEPT_PORT;
    const dropped = findPort(table, node, kind - TCP_ACCEPT + TCP_DROP, port);
    if (dropped !== NO_MATCH) return (dropped << CLASS_BITS) | DROP_PORT;
  }
  return plainMatch(table, node);
}

/** What the rules without ports of a node or an entry decide. */
function plainMatch({ accepts, drops }: CompiledTable, place: number): number {
  const accepted = accepts[place]!;
  if (accepted !== -1) return (accepted << CLASS_BITS) | ACCEPT;
  const dropped = drops[place]!;
  return dropped !== -1 ? (dropped << CLASS_BITS) | DROP : NO_MATCH;
}

/** The groups that a user is in. */
export interface Memberships {
  /** The numbers of the groups as code units, ascending. */
  groups: string;
  /** `groupBits` of `groups`. */
  groupBits: number;
}

/** V8 keeps a number of so many bits without allocating. */
const BITS = 30;

/** The groups whose numbers are less than BITS, a bit each. */
export function groupBits(groups: string): number {
  let bits = 0;
  for (let i = 0; i < groups.length && groups.charCodeAt(i) < BITS; i++)
    bits |= 1 << groups.charCodeAt(i);
  return bits;
}

/**
 * Finds the rule that decides among those of the groups of a user. They are one scope: the lowest
 * class decides, of whichever group.
 */
export function decideInGroups(family: Family, packet: InnerPacket, user: Memberships): number {
  const { groups } = user;
  const table = family.pieces[find(family.firsts, family.words, packet)]!;
  let best = NO_MATCH;
  let node = table.nodes[find(table.starts, family.words, packet)]!;
  for (; node !== -1; node = table.parents[node]!) {
    const begin = table.entryStarts[node]!;
    const end = table.entryStarts[node + 1]!;
    // Each group of the shorter list is looked up in the longer one.
    const areGroupsFewer = groups.length < end - begin;
    const count = areGroupsFewer ? groups.length : end - begin;
    for (let i = 0; i < count; i++) {
      let entry = begin + i;
      if (areGroupsFewer) entry = findEntry(table.groups, begin, end, groups.charCodeAt(i));
      else if (!isIn(user, table.groups[entry]!)) continue;
      if (entry === -1) continue;
      const match = matchOf(table, entry, packet);
      if (match === NO_MATCH) continue;
      if (best === NO_MATCH || classOf(match) < classOf(best)) best = match;
    }
    if (best !== NO_MATCH && classOf(best) === ACCEPT_PORT) break;
  }
  return best;
}

/** What one entry of a table of groups decides. */
function matchOf(table: CompiledTable, entry: number, packet: InnerPacket): number {
  const { rangeStarts } = table;
  const hasPorts = rangeStarts[entry * KINDS]! < rangeStarts[(entry + 1) * KINDS]!;
  const kind = hasPorts ? kindOf(packet) : NO_KIND;
  if (kind !== NO_KIND) {
    const port = kind === ICMP_ACCEPT ? 0 : packet.destinationPort;
    const accepted = findRange(table, entry * KINDS + kind, port);
    if (accepted !== NO_MATCH) return (accepted << CLASS_BITS) | ACCEPT_PORT;
    const dropped = findRange(table, entry * KINDS + kind - TCP_ACCEPT + TCP_DROP, port);
    if (dropped !== NO_MATCH) return (dropped << CLASS_BITS) | DROP_PORT;
  }
  return plainMatch(table, entry);
}

/** The entry of a group between two others, or -1. */
function findEntry(groups: Uint16Array, begin: number, end: number, group: number): number {
  let low = begin;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (groups[middle]! < group) low = middle + 1;
    else high = middle;
  }
  return low < end && groups[low] === group ? low : -1;
}

function isIn({ groups, groupBits: bits }: Memberships, group: number): boolean {
  if (group < BITS) return ((bits >> group) & 1) === 1;
  let low = 0;
  let high = groups.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const one = groups.charCodeAt(middle);
    if (one === group) return true;
    if (one < group) low = middle + 1;
    else high = middle;
  }
  return false;
}

/** In place of a kind of port rules: none is about the packet. */
const NO_KIND = -1;

/**
 * The kind of the port rules that accept a packet; the kind of the rules that drop it comes next.
 */
function kindOf(packet: InnerPacket): number {
  const { protocol } = packet;
  if (protocol === PROTOCOL_TCP) return TCP_ACCEPT;
  if (protocol === PROTOCOL_UDP) return UDP_ACCEPT;
  return isIcmp(packet) ? ICMP_ACCEPT : NO_KIND;
}

/** The rule of one kind whose ports contain `port`, in a node or in those around it. */
function findPort(table: CompiledTable, from: number, kind: number, port: number): number {
  let node = table.portNodes[from]!;
  while (node !== -1) {
    const rule = findRange(table, node * KINDS + kind, port);
    if (rule !== NO_MATCH) return rule;
    const parent = table.parents[node]!;
    node = parent === -1 ? -1 : table.portNodes[parent]!;
  }
  return NO_MATCH;
}

/** The rule whose ports contain `port`, among the ranges of one kind of a node or an entry. */
function findRange(table: CompiledTable, place: number, port: number): number {
  let low = table.rangeStarts[place]!;
  const end = table.rangeStarts[place + 1]!;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (table.portLasts[middle]! < port) low = middle + 1;
    else high = middle;
  }
  return low < end && table.portFirsts[low]! <= port ? table.portRules[low]! : NO_MATCH;
}
