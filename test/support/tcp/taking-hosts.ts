// Hosts that keep what they get, in virtual time, in place of the sockets of a gateway that face
// the host.

import {
  PIECE_ARENA,
  PIECE_LENGTH,
  PIECE_OFFSET,
  PIECE_WORDS,
} from '../../../dataplane/socket-contract.ts';
import { SendingHosts } from './sending-hosts.ts';

/** The sockets. */
export class TakingHosts extends SendingHosts {
  readonly #memory: readonly Uint8Array[];
  /** The bytes of each write, of TCP and of UDP. */
  readonly streamed: Buffer[] = [];
  readonly datagrams: Buffer[] = [];

  constructor(arenas: readonly Uint8Array[], eventsMax: number) {
    super(arenas, eventsMax);
    this.#memory = arenas;
  }

  #piece(i: number): Buffer {
    const [arena, offset, length] = [PIECE_ARENA, PIECE_OFFSET, PIECE_LENGTH].map(
      (word) => this.pieces[i * PIECE_WORDS + word]!,
    ) as [number, number, number];
    return Buffer.from(this.#memory[arena]!.subarray(offset, offset + length));
  }

  override write(handle: number, count: number): number {
    for (let i = 0; i < count; i++) this.streamed.push(this.#piece(i));
    return super.write(handle, count);
  }

  override connectUdp(): number {
    return this.connectTcp();
  }

  override send(_handle: number, count: number): number {
    for (let i = 0; i < count; i++) this.datagrams.push(this.#piece(i));
    return count;
  }
}
