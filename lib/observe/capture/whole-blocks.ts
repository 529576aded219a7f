// Reads a capture as it arrives, for code that keeps it: hands on whole blocks alone, so that a
// file is good whenever it ends, and counts the packets and those that were lost.

/** Block types. */
const INTERFACE_STATISTICS = 5;
const ENHANCED_PACKET = 6;

const HEADER_BYTES = 8;
/** More than any block of ours has. */
const BLOCK_BYTES_MAX = 1024 * 1024;
const STATISTICS_FIXED_BYTES = 20;
const OPTION_LOST = 5;

/** Blocks of one capture. */
export class WholeBlocks {
  /** Packets so far. */
  packets = 0;
  /** The beginning of a block whose end has not come. */
  #rest: Buffer = Buffer.alloc(0);
  /** By interface: as of its last block of statistics. */
  readonly #lost = new Map<number, number>();

  /** Packets that the gateway could not send in time, as far as it has said so. */
  get lost(): number {
    return [...this.#lost.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Adds what has arrived; returns the blocks that are whole now. */
  add(chunk: Buffer): Buffer {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (at + HEADER_BYTES <= bytes.length) {
      const size = bytes.readUInt32LE(at + 4);
      if (size < HEADER_BYTES + 4 || size % 4 !== 0 || size > BLOCK_BYTES_MAX)
        throw new Error('what arrives is no capture');
      if (at + size > bytes.length) break;
      this.#count(bytes.subarray(at, at + size));
      at += size;
    }
    this.#rest = bytes.subarray(at);
    return bytes.subarray(0, at);
  }

  #count(block: Buffer): void {
    const type = block.readUInt32LE(0);
    if (type === ENHANCED_PACKET) this.packets += 1;
    if (type === INTERFACE_STATISTICS) this.#lost.set(block.readUInt32LE(8), lostIn(block));
  }
}

function lostIn(block: Buffer): number {
  for (let at = STATISTICS_FIXED_BYTES; at + 4 < block.length - 4;) {
    const [code, length] = [block.readUInt16LE(at), block.readUInt16LE(at + 2)];
    if (code === OPTION_LOST && length === 8) return Number(block.readBigUInt64LE(at + 4));
    at += 4 + ((length + 3) & ~3);
  }
  return 0;
}
