// SipHash-2-4 (Aumasson and Bernstein, 2012) of words of 32 bits: who does not know the key cannot
// tell its results from chance. Initial sequence numbers (RFC 6528, 3) and the index of connections
// come from it. Each number of 64 bits is two words, and nothing is allocated.

/** The state: four numbers of 64 bits, of each first the low word. */
const v = new Int32Array(8);

/** Adds number `b` to number `a`; both are places in the state. */
function add(a: number, b: number): void {
  const low = (v[a]! >>> 0) + (v[b]! >>> 0);
  v[a] = low | 0;
  v[a + 1] = (v[a + 1]! + v[b + 1]! + (low > 0xffff_ffff ? 1 : 0)) | 0;
}

/** Rotates number `a` to the left by 1 to 31 bits, then XORs number `b` into it. */
function rotate(a: number, bits: number, b: number): void {
  const low = v[a]!;
  const high = v[a + 1]!;
  v[a] = ((low << bits) | (high >>> (32 - bits))) ^ v[b]!;
  v[a + 1] = ((high << bits) | (low >>> (32 - bits))) ^ v[b + 1]!;
}

/** Rotates number `a` by 32 bits. */
function swap(a: number): void {
  const low = v[a]!;
  v[a] = v[a + 1]!;
  v[a + 1] = low;
}

function round(): void {
  add(0, 2);
  rotate(2, 13, 0);
  swap(0);
  add(4, 6);
  rotate(6, 16, 4);
  add(0, 6);
  rotate(6, 21, 0);
  add(4, 2);
  rotate(2, 17, 4);
  swap(4);
}

function compress(low: number, high: number): void {
  v[6] = v[6]! ^ low;
  v[7] = v[7]! ^ high;
  round();
  round();
  v[0] = v[0]! ^ low;
  v[1] = v[1]! ^ high;
}

/** A key of 16 bytes, and the hash under it. */
export class SipHash {
  /** Words of the key; `random` fills the bytes of a new one. */
  readonly #key = new Int32Array(4);
  /** The low and the high word of the last hash. */
  readonly result = new Int32Array(2);

  constructor(random: (bytes: Uint8Array) => void) {
    random(new Uint8Array(this.#key.buffer));
  }

  /** Hashes the first `count` words; an even number. Returns the low word of `result`. */
  hash(words: Int32Array, count: number): number {
    const key = this.#key;
    v[0] = key[0]! ^ 0x70736575;
    v[1] = key[1]! ^ 0x736f6d65;
    v[2] = key[2]! ^ 0x6e646f6d;
    v[3] = key[3]! ^ 0x646f7261;
    v[4] = key[0]! ^ 0x6e657261;
    v[5] = key[1]! ^ 0x6c796765;
    v[6] = key[2]! ^ 0x79746573;
    v[7] = key[3]! ^ 0x74656462;
    for (let i = 0; i < count; i += 2) compress(words[i]!, words[i + 1]!);
    compress(0, (count * 4) << 24);
    v[4] = v[4]! ^ 0xff;
    for (let i = 0; i < 4; i++) round();
    this.result[0] = v[0]! ^ v[2]! ^ v[4]! ^ v[6]!;
    this.result[1] = v[1]! ^ v[3]! ^ v[5]! ^ v[7]!;
    return this.result[0]!;
  }
}
