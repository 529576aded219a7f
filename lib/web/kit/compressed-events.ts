// Server-sent events as gzip, RFC 1952. Each event is a block of its own that refers to the events
// before it, so it goes out at once, and rows that are like earlier ones take little. Between two
// events a viewer takes no more than the text that the next one may refer to.
//
// Beside what an attacker chooses (the name of a device, the address of a flow), compression tells
// what else is in a text. So no event may hold a secret: test/lib/web/parts/live-routes.test.ts.

import type { Readable } from 'node:stream';
import { Transform, type TransformCallback } from 'node:stream';
import { constants, crc32, deflateRawSync } from 'node:zlib';

/** What the next event may refer to: two to eight seconds of a busy list. */
const WINDOW_BITS = 13;
const WINDOW_BYTES = 2 ** WINDOW_BITS;
/** A larger table of what was seen takes longer to clear than to search. */
const MEMORY_LEVEL = 4;
/** Deflate, no flags, no time, an unknown system. */
const HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
/** A last block without content. */
const LAST_BLOCK = Buffer.from([3, 0]);

/** Events in gzip; the stream that is returned ends with that of the events, and that with it. */
export function compressEvents(events: Readable): Readable {
  const compressed = new Compressor();
  // Events are cut off where the viewer does not read, and a viewer may leave.
  events.once('close', () => {
    if (!events.readableEnded) compressed.destroy();
  });
  compressed.once('close', () => events.destroy());
  return events.pipe(compressed);
}

class Compressor extends Transform {
  #window = Buffer.alloc(0);
  #crc = 0;
  #size = 0;

  constructor() {
    super();
    this.push(HEAD);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const block = deflateRawSync(chunk, {
      windowBits: WINDOW_BITS,
      memLevel: MEMORY_LEVEL,
      dictionary: this.#window,
      finishFlush: constants.Z_SYNC_FLUSH,
    });
    this.#crc = crc32(chunk, this.#crc);
    this.#size += chunk.length;
    // A copy: a part would keep all of it.
    this.#window = Buffer.from(Buffer.concat([this.#window, chunk]).subarray(-WINDOW_BYTES));
    done(null, block);
  }

  override _flush(done: TransformCallback): void {
    const sums = Buffer.alloc(8);
    sums.writeUInt32LE(this.#crc);
    sums.writeUInt32LE(this.#size % 2 ** 32, 4);
    done(null, Buffer.concat([LAST_BLOCK, sums]));
  }
}
