// The files of pages as browsers load them over a slow line: each is compressed once, at the best
// quality, when it is first asked for, and kept in memory. Only files that are the same for
// everybody are compressed, and live values (compressed-events.ts): of an answer with secrets,
// compression would tell about them.

import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** The encodings, the smallest result first; browsers take Brotli over HTTPS alone. */
const ENCODINGS = ['br', 'gzip'] as const;

/** An encoding of HTTP. */
export type Encoding = (typeof ENCODINGS)[number];

const encoders: Readonly<Record<Encoding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) =>
    promisify(brotliCompress)(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  gzip: (bytes) => promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }),
};

/** The best encoding that a request accepts; null: none. */
export function acceptedEncoding(header: string | undefined): Encoding | null {
  return ENCODINGS.find((name) => accepts(header, name)) ?? null;
}

/** Whether a request accepts an encoding. RFC 9110, 12.5.3. */
export function accepts(header: string | undefined, encoding: Encoding): boolean {
  const accepted = new Map(
    (header ?? '').split(',').map((part): [string, number] => {
      const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
      const quality = parameters.find((text) => text.startsWith('q='));
      return [name, quality === undefined ? 1 : Number(quality.slice(2))];
    }),
  );
  return (accepted.get(encoding) ?? accepted.get('*') ?? 0) > 0;
}

/** Files in every encoding that was asked for. */
export class CompressedFiles {
  readonly #files: Readonly<Record<string, Buffer>>;
  readonly #known = new Map<string, Promise<Buffer>>();

  constructor(files: Readonly<Record<string, Buffer>>) {
    this.#files = files;
  }

  /** The bytes of a file that is there, in an encoding. */
  read(name: string, encoding: Encoding): Promise<Buffer> {
    const key = `${encoding} ${name}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const bytes = encoders[encoding](this.#files[name] ?? Buffer.alloc(0));
    this.#known.set(key, bytes);
    // A failure must not be remembered.
    bytes.catch(() => this.#known.delete(key));
    return bytes;
  }
}
