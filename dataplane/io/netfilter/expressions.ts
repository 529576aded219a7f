// Expressions of rules: each loads something of a packet into a register, compares it, or acts
// (linux/netfilter/nf_tables.h).

import { boundsOf, type NetworkRange } from '../../wire/network.ts';
import { type Attribute, native32, network16 } from './message.ts';

/** One expression: its attributes are those of NFTA_LIST_ELEM. */
export type Expression = readonly Attribute[];

const REGISTER = 1;
const VERDICT_REGISTER = 0;
/** Room for the name of an interface. */
const NAME_BYTES = 16;
/** Where a header has the address of the sender, by the length of the address. */
const SOURCE_AT: Readonly<Record<number, number>> = { 4: 12, 16: 8 };
/** NFPROTO_IPV4 and NFPROTO_IPV6, by the length of the address. */
export const FAMILY: Readonly<Record<number, number>> = { 4: 2, 16: 10 };
/** IPPROTO_TCP. */
export const TCP = 6;

const META = { iifname: 6, oifname: 7, nfproto: 15, l4proto: 16 };
const CT = { state: 0, status: 2 };
/** States of a connection, as bits. */
export const STATE = { invalid: 1, new: 8, untracked: 64 };
/** IPS_CONFIRMED: the kernel remembers the connection. */
const CONFIRMED = 8;
/** Objects of a table that rules name. */
export const OBJECT = { counter: 1, timeout: 7 };
const VERDICT = { drop: 0, goto: -4 };
const FIB_TYPE = 3;
const FIB_OIF = 1;
const FIB_DADDR = 2;
const FIB_PRESENT = 32;
/** RTN_LOCAL: an address of this host. */
const LOCAL = 2;

const expression = (name: string, attributes: readonly Attribute[]): Expression => [
  [1, name],
  [2, attributes],
];

const data = (bytes: Uint8Array): readonly Attribute[] => [[1, bytes]];

const loadMeta = (key: number): Expression =>
  expression('meta', [
    [1, REGISTER],
    [2, key],
  ]);

const compare = (bytes: Uint8Array, isEqual = true): Expression =>
  expression('cmp', [
    [1, REGISTER],
    [2, isEqual ? 0 : 1],
    [3, data(bytes)],
  ]);

const maskedBy = (bytes: Uint8Array): Expression =>
  expression('bitwise', [
    [1, REGISTER],
    [2, REGISTER],
    [3, bytes.length],
    [4, data(bytes)],
    [5, data(new Uint8Array(bytes.length))],
  ]);

const interfaceIs = (key: number, name: string, isEqual: boolean): Expression[] => {
  const bytes = Buffer.alloc(NAME_BYTES);
  bytes.write(name);
  return [loadMeta(key), compare(bytes, isEqual)];
};

/** The packet has come by an interface. */
export const comesBy = (name: string): Expression[] => interfaceIs(META.iifname, name, true);

/** The packet leaves by an interface, or by any other. */
export const leavesBy = (name: string): Expression[] => interfaceIs(META.oifname, name, true);
export const leavesByOther = (name: string): Expression[] => interfaceIs(META.oifname, name, false);

/** The packet is of a family: the length of its addresses, 4 or 16. */
export const isOfFamily = (length: number): Expression[] => [
  loadMeta(META.nfproto),
  compare(Buffer.of(FAMILY[length] ?? 0)),
];

/** The packet is of TCP. */
export const isTcp = (): Expression[] => [loadMeta(META.l4proto), compare(Buffer.of(TCP))];

/** Loads the address of the sender. */
const source = (length: number): Expression[] => [
  ...isOfFamily(length),
  expression('payload', [
    [1, REGISTER],
    [2, 1],
    [3, SOURCE_AT[length] ?? 0],
    [4, length],
  ]),
];

/** The sender is in a network. */
export const comesFrom = (range: NetworkRange): Expression[] => {
  const { first, mask } = boundsOf(range);
  return [...source(first.length), maskedBy(mask), compare(first)];
};

/** The sender is in a set of addresses. */
export const comesFromSet = (set: string, length: number): Expression[] => [
  ...source(length),
  expression('lookup', [
    [1, set],
    [2, REGISTER],
  ]),
];

const bits = (key: number, bytes: Uint8Array, isAny: boolean): Expression[] => [
  expression('ct', [
    [1, REGISTER],
    [2, key],
  ]),
  maskedBy(bytes),
  compare(native32(0), !isAny),
];

/** The connection is in one of these states. */
export const isInState = (states: number): Expression[] => bits(CT.state, native32(states), true);

/** The packet would be the first of a connection. */
export const opensConnection = (): Expression[] => [
  ...isInState(STATE.new),
  ...bits(CT.status, native32(CONFIRMED), false),
];

/** The sender has more than so many connections; a set counts them by sender. */
export const hasMoreConnections = (set: string, length: number, most: number): Expression[] => [
  ...source(length),
  expression('dynset', [
    [1, set],
    [3, 0],
    [4, REGISTER],
    [
      7,
      expression('connlimit', [
        [1, most],
        [2, 1],
      ]),
    ],
  ]),
];

/** The destination is no address of this host, and a route leads there. */
export const isRoutedBeyond = (): Expression[] => [
  expression('fib', [
    [1, REGISTER],
    [2, FIB_TYPE],
    [3, FIB_DADDR],
  ]),
  compare(native32(LOCAL), false),
  expression('fib', [
    [1, REGISTER],
    [2, FIB_OIF],
    [3, FIB_DADDR | FIB_PRESENT],
  ]),
  compare(native32(1)),
];

const object = (type: number, name: string): Expression =>
  expression('objref', [
    [1, type],
    [2, name],
  ]);

export const count = (counter: string): Expression[] => [object(OBJECT.counter, counter)];
export const setTimeouts = (timeouts: string): Expression[] => [object(OBJECT.timeout, timeouts)];

const verdict = (attributes: readonly Attribute[]): Expression[] => [
  expression('immediate', [
    [1, VERDICT_REGISTER],
    [2, [[2, attributes]]],
  ]),
];

export const drop = (): Expression[] => verdict([[1, VERDICT.drop]]);

export const goTo = (chain: string): Expression[] =>
  verdict([
    [1, VERDICT.goto],
    [2, chain],
  ]);

export const masquerade = (): Expression[] => [expression('masq', [])];

/** Leads the connection to a port of this host. */
export const redirect = (port: number): Expression[] => [
  expression('immediate', [
    [1, REGISTER],
    [2, data(network16(port))],
  ]),
  expression('redir', [
    [1, REGISTER],
    // NF_NAT_RANGE_PROTO_SPECIFIED
    [3, 2],
  ]),
];
