// Reads messages of IPFIX by what RFC 7011 says, and knows nothing of who made them: it learns
// templates from what comes.

/** A message as it was read. */
export interface ReadMessage {
  readonly exportSeconds: number;
  readonly sequence: number;
  readonly domain: number;
  /** How many templates it has. */
  readonly templates: number;
  /** Each record: values by the number of the information element, as hexadecimal digits. */
  readonly records: readonly ReadonlyMap<number, string>[];
}

/** Reads messages of one exporter, one after the other. */
export class IpfixDecoder {
  readonly #templates = new Map<number, (readonly [element: number, length: number])[]>();

  /** Throws where the message is not what the RFC says, or has no template for a record. */
  read(message: Uint8Array): ReadMessage {
    const bytes = Buffer.from(message);
    if (bytes.readUInt16BE(0) !== 10) throw new Error('another version');
    if (bytes.readUInt16BE(2) !== bytes.length) throw new Error('another length');
    const records: ReadonlyMap<number, string>[] = [];
    let templates = 0;
    for (let at = 16; at < bytes.length;) {
      const [id, length] = [bytes.readUInt16BE(at), bytes.readUInt16BE(at + 2)];
      if (length < 4 || at + length > bytes.length) throw new Error(`a set of ${length} bytes`);
      const set = bytes.subarray(at + 4, at + length);
      if (id === 2) templates += this.#learn(set);
      else records.push(...this.#records(id, set));
      at += length;
    }
    return {
      exportSeconds: bytes.readUInt32BE(4),
      sequence: bytes.readUInt32BE(8),
      domain: bytes.readUInt32BE(12),
      templates,
      records,
    };
  }

  #learn(set: Buffer): number {
    let count = 0;
    for (let at = 0; at < set.length; count++) {
      const [id, fields] = [set.readUInt16BE(at), set.readUInt16BE(at + 2)];
      if (id < 256) throw new Error(`a template ${id}`);
      at += 4;
      const template = Array.from({ length: fields }, (_, i) => {
        const element = set.readUInt16BE(at + 4 * i);
        if (element >= 0x8000) throw new Error('an element of an enterprise');
        return [element, set.readUInt16BE(at + 4 * i + 2)] as const;
      });
      at += 4 * fields;
      this.#templates.set(id, template);
    }
    return count;
  }

  #records(id: number, set: Buffer): ReadonlyMap<number, string>[] {
    const template = this.#templates.get(id);
    if (template === undefined) throw new Error(`no template ${id}`);
    const size = template.reduce((sum, [, length]) => sum + length, 0);
    // Less than a record may be left: padding.
    return Array.from({ length: Math.floor(set.length / size) }, (_, i) => {
      let at = i * size;
      return new Map(
        template.map(([element, length]) => {
          const value = set.toString('hex', at, at + length);
          at += length;
          return [element, value] as const;
        }),
      );
    });
  }
}
