// Reads pcapng as its specification says, without the code that writes it: the packets with their
// interfaces and comments, names, counts.

/** A packet of a capture. */
export interface ReadPacket {
  /** The name of its interface. */
  readonly place: string;
  readonly comment: string;
  readonly bytes: Buffer;
  /** Bytes of the whole packet. */
  readonly length: number;
  /** Unix time in microseconds. */
  readonly atUs: bigint;
  /** 1: inbound, 2: outbound. */
  readonly flags: number;
}

/** The counts of an interface, as of one block. */
export interface ReadCounts {
  readonly place: string;
  readonly received: number;
  readonly lost: number;
  readonly comment: string | null;
}

/** A file of one section, or its beginning. */
export interface ReadFile {
  readonly application: string;
  readonly comment: string;
  readonly interfaces: readonly { name: string; snaplen: number; linktype: number }[];
  readonly packets: readonly ReadPacket[];
  /** By address in hexadecimal. */
  readonly names: ReadonlyMap<string, string>;
  readonly counts: readonly ReadCounts[];
}

/** Whole blocks at the beginning of some bytes. */
function* blocksOf(bytes: Buffer): Generator<{ type: number; body: Buffer }> {
  for (let at = 0; at + 12 <= bytes.length;) {
    const size = bytes.readUInt32LE(at + 4);
    if (size % 4 !== 0 || size < 12) throw new Error(`a block of ${size} bytes at ${at}`);
    if (at + size > bytes.length) return;
    if (bytes.readUInt32LE(at + size - 4) !== size)
      throw new Error(`the end of the block at ${at}`);
    yield { type: bytes.readUInt32LE(at), body: bytes.subarray(at + 8, at + size - 4) };
    at += size;
  }
}

/** Options, or records of names, by their numbers. */
function* optionsOf(body: Buffer): Generator<{ code: number; value: Buffer }> {
  for (let at = 0; at < body.length;) {
    const [code, length] = [body.readUInt16LE(at), body.readUInt16LE(at + 2)];
    if (code === 0) return;
    yield { code, value: body.subarray(at + 4, at + 4 + length) };
    at += 4 + ((length + 3) & ~3);
  }
  throw new Error('options without their end');
}

function option(body: Buffer, wanted: number): Buffer | null {
  for (const { code, value } of optionsOf(body)) if (code === wanted) return value;
  return null;
}

function textOf(body: Buffer, code: number): string {
  return option(body, code)?.toString() ?? '';
}

function timeOf(body: Buffer, at: number): bigint {
  return (BigInt(body.readUInt32LE(at)) << 32n) | BigInt(body.readUInt32LE(at + 4));
}

/** Reads a file, as far as it is there. */
export function readPcapng(bytes: Buffer): ReadFile {
  const interfaces: { name: string; snaplen: number; linktype: number }[] = [];
  const packets: ReadPacket[] = [];
  const names = new Map<string, string>();
  const counts: ReadCounts[] = [];
  let [application, comment] = ['', ''];
  for (const { type, body } of blocksOf(bytes))
    if (type === 0x0a0d0d0a) {
      if (body.readUInt32LE(0) !== 0x1a2b3c4d) throw new Error('another byte order');
      comment = textOf(body.subarray(16), 1);
      application = textOf(body.subarray(16), 4);
    } else if (type === 1)
      interfaces.push({
        name: textOf(body.subarray(8), 2),
        linktype: body.readUInt16LE(0),
        snaplen: body.readUInt32LE(4),
      });
    else if (type === 4)
      for (const { code, value } of optionsOf(body)) {
        const addressBytes = code === 1 ? 4 : 16;
        const address = value.subarray(0, addressBytes).toString('hex');
        names.set(address, value.subarray(addressBytes, -1).toString());
      }
    else if (type === 5)
      counts.push({
        place: interfaces[body.readUInt32LE(0)]!.name,
        received: Number(option(body.subarray(12), 4)!.readBigUInt64LE()),
        lost: Number(option(body.subarray(12), 5)!.readBigUInt64LE()),
        comment: option(body.subarray(12), 1)?.toString() ?? null,
      });
    else if (type === 6) {
      const captured = body.readUInt32LE(12);
      const options = body.subarray(20 + ((captured + 3) & ~3));
      packets.push({
        place: interfaces[body.readUInt32LE(0)]!.name,
        comment: textOf(options, 1),
        bytes: body.subarray(20, 20 + captured),
        length: body.readUInt32LE(16),
        atUs: timeOf(body, 4),
        flags: option(options, 2)!.readUInt32LE(),
      });
    } else throw new Error(`a block of the unknown type ${type}`);
  return { application, comment, interfaces, packets, names, counts };
}
