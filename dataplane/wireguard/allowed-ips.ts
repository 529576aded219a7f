// Cryptokey routing (paper, section 2): which peer a tunnel address belongs to. There is one binary
// trie per address family, path-compressed. A look-up returns the peer with the longest prefix that
// contains the address, and allocates nothing. Addresses are 32-bit words, most significant first;
// an IPv4 address is one word.

/** A node stands for a prefix; `value` is null on a node that only forks. */
interface Node<T> {
  prefixBits: number;
  word0: number;
  word1: number;
  word2: number;
  word3: number;
  mask0: number;
  mask1: number;
  mask2: number;
  mask3: number;
  zero: Node<T> | null;
  one: Node<T> | null;
  value: T | null;
}

type Words = readonly [number, number, number, number];

/** Prefixes of both families and what they belong to. */
export class AllowedIps<T> {
  /**
   * How many networks behind peers there are. While there is none, an address outside the tunnel
   * networks need not be looked up.
   */
  routes = 0;
  #root4: Node<T> | null = null;
  #root6: Node<T> | null = null;

  /** Gives a prefix to `value` and takes it from its owner before. Host bits do not count. */
  insert(address: Uint8Array, prefixBits: number, value: T): void {
    const words = wordsOf(address);
    if (address.length === 4) this.#root4 = insertAt(this.#root4, words, prefixBits, value);
    else this.#root6 = insertAt(this.#root6, words, prefixBits, value);
  }

  /** Removes a prefix if it belongs to `value`. */
  remove(address: Uint8Array, prefixBits: number, value: T): void {
    const words = wordsOf(address);
    if (address.length === 4) this.#root4 = removeAt(this.#root4, words, prefixBits, value);
    else this.#root6 = removeAt(this.#root6, words, prefixBits, value);
  }

  /** The owner of an IPv4 address. Never allocates. */
  lookUp4(word0: number): T | null {
    let best: T | null = null;
    let node = this.#root4;
    while (node !== null && ((node.word0 ^ word0) & node.mask0) === 0) {
      if (node.value !== null) best = node.value;
      if (node.prefixBits === 32) break;
      node = (word0 >>> (31 - node.prefixBits)) & 1 ? node.one : node.zero;
    }
    return best;
  }

  /** The owner of an IPv6 address. Never allocates. */
  lookUp6(word0: number, word1: number, word2: number, word3: number): T | null {
    let best: T | null = null;
    let node = this.#root6;
    while (
      node !== null &&
      (((node.word0 ^ word0) & node.mask0) |
        ((node.word1 ^ word1) & node.mask1) |
        ((node.word2 ^ word2) & node.mask2) |
        ((node.word3 ^ word3) & node.mask3)) ===
        0
    ) {
      if (node.value !== null) best = node.value;
      const bit = node.prefixBits;
      if (bit === 128) break;
      const word = bit < 64 ? (bit < 32 ? word0 : word1) : bit < 96 ? word2 : word3;
      node = (word >>> (31 - (bit & 31))) & 1 ? node.one : node.zero;
    }
    return best;
  }
}

function wordsOf(address: Uint8Array): Words {
  const view = new DataView(address.buffer, address.byteOffset, address.byteLength);
  const word = (i: number): number => (4 * i < address.length ? view.getInt32(4 * i) : 0);
  return [word(0), word(1), word(2), word(3)];
}

/** The mask of word `i` for a prefix; a shift by 32 would be a shift by 0. */
function maskOf(prefixBits: number, i: number): number {
  const bits = Math.min(32, Math.max(0, prefixBits - 32 * i));
  return bits === 0 ? 0 : -1 << (32 - bits);
}

function makeNode<T>(words: Words, prefixBits: number, value: T | null): Node<T> {
  const masks: Words = [
    maskOf(prefixBits, 0),
    maskOf(prefixBits, 1),
    maskOf(prefixBits, 2),
    maskOf(prefixBits, 3),
  ];
  return {
    prefixBits,
    word0: words[0] & masks[0],
    word1: words[1] & masks[1],
    word2: words[2] & masks[2],
    word3: words[3] & masks[3],
    mask0: masks[0],
    mask1: masks[1],
    mask2: masks[2],
    mask3: masks[3],
    zero: null,
    one: null,
    value,
  };
}

function bitOf(words: Words, bit: number): number {
  return (words[(bit >>> 5) as 0 | 1 | 2 | 3] >>> (31 - (bit & 31))) & 1;
}

/** How many leading bits the words share with the prefix of a node, at most `limit`. */
function sharedBits<T>(node: Node<T>, words: Words, limit: number): number {
  const differences = [
    node.word0 ^ words[0],
    node.word1 ^ words[1],
    node.word2 ^ words[2],
    node.word3 ^ words[3],
  ];
  let shared = 0;
  for (const difference of differences) {
    const equal = Math.clz32(difference);
    shared += equal;
    if (equal < 32) break;
  }
  return Math.min(shared, node.prefixBits, limit);
}

function insertAt<T>(node: Node<T> | null, words: Words, prefixBits: number, value: T): Node<T> {
  if (node === null) return makeNode(words, prefixBits, value);
  const shared = sharedBits(node, words, prefixBits);
  if (shared === node.prefixBits) {
    if (shared === prefixBits) node.value = value;
    else if (bitOf(words, shared)) node.one = insertAt(node.one, words, prefixBits, value);
    else node.zero = insertAt(node.zero, words, prefixBits, value);
    return node;
  }
  // The two prefixes differ before the end of this one: a fork, or the shorter of the two, goes
  // above it.
  const above = makeNode<T>(words, shared, shared === prefixBits ? value : null);
  const nodeWords: Words = [node.word0, node.word1, node.word2, node.word3];
  attach(above, node, bitOf(nodeWords, shared));
  if (above.value === null) attach(above, makeNode(words, prefixBits, value), bitOf(words, shared));
  return above;
}

function attach<T>(parent: Node<T>, child: Node<T>, bit: number): void {
  if (bit === 1) parent.one = child;
  else parent.zero = child;
}

function removeAt<T>(
  node: Node<T> | null,
  words: Words,
  prefixBits: number,
  value: T,
): Node<T> | null {
  if (node === null || sharedBits(node, words, prefixBits) < node.prefixBits) return node;
  if (node.prefixBits === prefixBits) {
    if (node.value === value) node.value = null;
  } else if (bitOf(words, node.prefixBits)) {
    node.one = removeAt(node.one, words, prefixBits, value);
  } else {
    node.zero = removeAt(node.zero, words, prefixBits, value);
  }
  // A node without value that does not fork is removed.
  if (node.value !== null || (node.zero !== null && node.one !== null)) return node;
  return node.zero ?? node.one;
}
