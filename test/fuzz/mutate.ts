// Makes inputs out of inputs: bits flipped, bytes that are often special, pieces cut, doubled and
// joined. From a seed, so that a run can be run again.

const INPUT_BYTES_MAX = 4_096;
const SPECIAL = [0, 1, 2, 4, 16, 20, 32, 40, 64, 127, 128, 148, 255];

/** Chance from a seed (xorshift32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 2654435761) >>> 0 || 1;
  }

  /** A whole number from 0 to below `limit`. */
  below(limit: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % Math.max(1, limit);
  }
}

/** Changes an input of the pool a few times. */
export function mutate(pool: readonly Uint8Array[], chance: Chance): Uint8Array {
  let input = pool[chance.below(pool.length)] ?? new Uint8Array(0);
  for (let changes = 1 + chance.below(6); changes > 0; changes--)
    input = mutations[chance.below(mutations.length)]!(input, chance, pool);
  return input.slice(0, INPUT_BYTES_MAX);
}

type Mutation = (input: Uint8Array, chance: Chance, pool: readonly Uint8Array[]) => Uint8Array;

const mutations: readonly Mutation[] = [
  (input, chance) => withByte(input, chance, (byte) => byte ^ (1 << chance.below(8))),
  (input, chance) => withByte(input, chance, () => chance.below(256)),
  (input, chance) => withByte(input, chance, () => SPECIAL[chance.below(SPECIAL.length)] ?? 0),
  (input, chance) => {
    const made = Uint8Array.from({ length: 1 + chance.below(32) }, () => chance.below(256));
    return join(input, chance.below(input.length + 1), made);
  },
  (input, chance) => {
    const [from, to] = piece(input, chance);
    return Uint8Array.from([...input.subarray(0, from), ...input.subarray(to)]);
  },
  (input, chance) => {
    const [from, to] = piece(input, chance);
    return join(input, chance.below(input.length + 1), input.slice(from, to));
  },
  (input, chance, pool) => {
    const other = pool[chance.below(pool.length)] ?? input;
    const at = chance.below(Math.min(input.length, other.length) + 1);
    return Uint8Array.from([...input.subarray(0, at), ...other.subarray(at)]);
  },
];

function withByte(input: Uint8Array, chance: Chance, change: (byte: number) => number): Uint8Array {
  const copy = input.slice();
  const at = chance.below(copy.length);
  if (copy.length > 0) copy[at] = change(copy[at] ?? 0);
  return copy;
}

function piece(input: Uint8Array, chance: Chance): [from: number, to: number] {
  const from = chance.below(input.length + 1);
  return [from, from + chance.below(Math.min(64, input.length - from) + 1)];
}

function join(input: Uint8Array, at: number, inserted: Uint8Array): Uint8Array {
  return Uint8Array.from([...input.subarray(0, at), ...inserted, ...input.subarray(at)]);
}
