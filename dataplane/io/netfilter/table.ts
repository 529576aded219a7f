// A transaction on one table of nf_tables, statement by statement.

import { boundsOf, type NetworkRange } from '../../wire/network.ts';
import { type Expression, FAMILY, OBJECT, TCP } from './expressions.ts';
import {
  type Attribute,
  find,
  type Message,
  network16,
  NLM_F_APPEND,
  NLM_F_CREATE,
  NLM_F_DUMP,
  read,
  type Refusal,
  transact,
} from './message.ts';

/** NFPROTO_UNSPEC. */
const ANY = 0;
const NEW_TABLE = 0;
const GET_TABLE = 1;
const DELETE_TABLE = 2;
const NEW_CHAIN = 3;
const NEW_RULE = 6;
const NEW_SET = 9;
const NEW_ELEMENTS = 12;
const DELETE_ELEMENTS = 14;
const NEW_OBJECT = 18;
const GET_OBJECT = 19;

const SET_OF_NETWORKS = 4;
const SET_OF_RULES = 32;
const ELEMENT_IS_END = 1;
const ACCEPT = 1;
/** The types ipv4_addr and ipv6_addr of nft, which lists the table by them. */
const KEY_TYPE: Readonly<Record<number, number>> = { 4: 7, 16: 8 };
/** Networks in one message: an attribute holds 64 KiB. */
const NETWORKS_MAX = 500;

/** When the kernel asks a chain about a packet. */
export const HOOK = {
  prerouting: { number: 0, priority: 0, type: 'filter' },
  forward: { number: 2, priority: 0, type: 'filter' },
  destinationNat: { number: 0, priority: -100, type: 'nat' },
  sourceNat: { number: 4, priority: 100, type: 'nat' },
} as const;

const OWN_PREFIXES = ['postern', 'postern-relay'] as const;

/**
 * The name of a table for an interface; no other interface or prefix has it. Names of nft have no =
 * and +, so these are written as their code after a dot, and the dot as well. A prefix has no
 * underscore, which ends it.
 */
export function tableName(
  interfaceName: string,
  prefix: (typeof OWN_PREFIXES)[number] = 'postern',
): string {
  const name = interfaceName.replaceAll(
    /[^A-Za-z0-9_-]/g,
    (sign) => `.${sign.charCodeAt(0).toString(16)}`,
  );
  return `${prefix}_${name}`;
}

/** Statements on one table; the kernel carries out all of them or none. */
export class Transaction {
  readonly #table: string;
  readonly #messages: Message[] = [];

  constructor(table: string) {
    this.#table = table;
  }

  /** Null, or why the kernel refused. */
  commit(): Refusal | null {
    return transact(this.#messages);
  }

  /** What `commit` would return; nothing changes. */
  check(): Refusal | null {
    return transact(this.#messages, 'check');
  }

  /** Adds the table if there is none. */
  addTable(): this {
    return this.#add(NEW_TABLE, NLM_F_CREATE, 'the table');
  }

  /** Removes the table with all that is in it, if there is one. */
  removeTable(): this {
    return this.addTable().#add(DELETE_TABLE, 0, 'to remove the table');
  }

  addCounter(name: string): this {
    return this.#addObject(OBJECT.counter, name, `the counter ${name}`, []);
  }

  /** For how many seconds TCP connections are remembered; `length` of addresses: 4 or 16. */
  addTcpTimeouts(
    name: string,
    length: number,
    { established, timeWait }: { readonly established: number; readonly timeWait: number },
  ): this {
    const policy: Attribute[] = [
      [3, established],
      [7, timeWait],
    ];
    return this.#addObject(OBJECT.timeout, name, 'timeouts of TCP (nft_ct)', [
      [1, network16(FAMILY[length] ?? 0)],
      [2, Buffer.of(TCP)],
      [3, policy],
    ]);
  }

  /** A set of networks of one family. */
  addNetworkSet(name: string, length: number): this {
    return this.#addSet(name, length, SET_OF_NETWORKS, []);
  }

  /** A set of addresses in which rules count, with room for `size`. */
  addCountingSet(name: string, length: number, size: number): this {
    return this.#addSet(name, length, SET_OF_RULES, [[9, [[1, size]]]]);
  }

  /** A chain; without a hook, rules lead to it. */
  addChain(name: string, hook?: (typeof HOOK)[keyof typeof HOOK]): this {
    const base: Attribute[] =
      hook === undefined
        ? []
        : [
            [
              4,
              [
                [1, hook.number],
                [2, hook.priority],
              ],
            ],
            [5, ACCEPT],
            [7, hook.type],
          ];
    return this.#add(NEW_CHAIN, NLM_F_CREATE, `the chain ${name}`, [[3, name], ...base]);
  }

  /** A rule at the end of a chain. */
  addRule(chain: string, ...expressions: readonly (readonly Expression[])[]): this {
    return this.#add(NEW_RULE, NLM_F_CREATE | NLM_F_APPEND, `a rule of the chain ${chain}`, [
      [2, chain],
      [4, expressions.flat().map((expression): Attribute => [1, expression])],
    ]);
  }

  /** The set has these networks and no others; they must not overlap. */
  replaceNetworks(set: string, networks: readonly NetworkRange[]): this {
    const what = `networks of the set ${set}`;
    this.#add(DELETE_ELEMENTS, 0, what, [[2, set]]);
    for (let at = 0; at < networks.length; at += NETWORKS_MAX) {
      const elements = networks.slice(at, at + NETWORKS_MAX).flatMap(elementsOf);
      this.#add(NEW_ELEMENTS, NLM_F_CREATE, what, [
        [2, set],
        [3, elements],
      ]);
    }
    return this;
  }

  #addObject(type: number, name: string, what: string, data: readonly Attribute[]): this {
    return this.#add(NEW_OBJECT, NLM_F_CREATE, what, [
      [2, name],
      [3, type],
      [4, data],
    ]);
  }

  #addSet(name: string, length: number, flags: number, description: readonly Attribute[]): this {
    return this.#add(NEW_SET, NLM_F_CREATE, `the set ${name}`, [
      [2, name],
      [3, flags],
      [4, KEY_TYPE[length] ?? 0],
      [5, length],
      ...description,
      // An id of its own within the transaction.
      [10, this.#messages.length],
    ]);
  }

  #add(type: number, flags: number, what: string, attributes: readonly Attribute[] = []): this {
    const table: Attribute = [1, this.#table];
    this.#messages.push({ type, flags, what, attributes: [table, ...attributes] });
    return this;
  }
}

/** The packets that a counter has counted; 'gone': there is no such table; null: not known. */
export function readCounter(table: string, name: string): number | 'gone' | null {
  const attributes: Attribute[] = [
    [1, table],
    [2, name],
    [3, OBJECT.counter],
  ];
  const answer = read({ type: GET_OBJECT, flags: 0, attributes, what: `the counter ${name}` });
  if ('code' in answer) return answer.code === 'ENOENT' ? 'gone' : null;
  const [counter = Buffer.alloc(0)] = answer;
  const packets = find(find(counter, 4), 2);
  return packets.length === 8 ? Number(packets.readBigUInt64BE()) : null;
}

/** The names of all tables of the host, of all families, or why they cannot be read. */
export function readTables(): string[] | Refusal {
  const what = 'the tables of this host';
  const answer = read({ type: GET_TABLE, family: ANY, flags: NLM_F_DUMP, attributes: [], what });
  if ('code' in answer) return answer;
  return answer.map((table) => find(table, 1).toString().replace(/\0$/, ''));
}

/** Whether a table has a name that `tableName` makes. */
export function isOwnTable(name: string): boolean {
  return OWN_PREFIXES.some((prefix) => name.startsWith(`${prefix}_`));
}

/** The first address of a network, and the first one behind it. */
function elementsOf(range: NetworkRange): Attribute[] {
  const { first, beyond } = boundsOf(range);
  const element = (key: Uint8Array, flags: number): Attribute => [
    1,
    [
      [1, [[1, key]]],
      [3, flags],
    ],
  ];
  // Behind the last network of all there is no address.
  return [element(first, 0), ...(beyond === null ? [] : [element(beyond, ELEMENT_IS_END)])];
}
