// A capture as a stream of pcapng. Packets are taken from the data plane as fast as the client
// reads. A client that reads too slowly loses packets, which wait in rings of a fixed size; they
// are counted in the blocks of statistics. These also keep the connection alive.

import { Readable } from 'node:stream';
import {
  type Capture,
  type CapturedPacket,
  createCapturedPacket,
  FROM_DEVICE,
  REFUSED,
  TO_DEVICE,
  UNFINISHED_CHECKSUM,
} from '../../../dataplane/index.ts';
import {
  blockMemory,
  interfaceBlock,
  namesBlock,
  packetBlockBytes,
  sectionHeader,
  statisticsBlock,
  writePacketBlock,
} from './pcapng.ts';

/** How often packets are taken; a ring is full after 150 ms of 200 Mbit/s. */
const TAKE_MS = 20;
/**
 * Bytes of a buffer that is handed on. malloc asks the kernel for each piece of 128 KiB or more
 * (MALLOC_TRIM_THRESHOLD_ in lib/postern), which costs more than all else that a capture does.
 */
const CHUNK_BYTES = 48 * 1024;
/** Bytes that may wait for the client in this process: more than comes between two takings. */
const WAITING_BYTES = 768 * 1024;
/** A packet of 64 KiB and what is said of it. */
const BLOCK_BYTES_MAX = 80 * 1024;
/** Bytes that are written before others have their turn; the rest is taken 1 ms later. */
const TURN_BYTES = 1024 * 1024;
/** How often counts are sent; proxies give up connections that are silent for 60 s. */
const STATISTICS_MS = 20_000;
/** How long a client may take to read the rest, once a capture has ended. */
const REST_MS = 5_000;
/** Room for the last blocks of statistics. */
const LAST_BYTES = 1_024;
/** Comments that are remembered; there is one for each rule and reason. */
const COMMENTS_MAX = 1_024;

/** Why a capture ended. */
export type CaptureEnd = 'duration' | 'bytes' | 'client' | 'access' | 'stop';

/** The interfaces, by the numbers of places. */
const interfaces = [
  { place: FROM_DEVICE, name: 'from device', description: 'What the device sent, and passed.' },
  { place: TO_DEVICE, name: 'to device', description: 'What passed to the device.' },
  { place: REFUSED, name: 'refused', description: 'What was refused, in either direction.' },
] as const;

/** What ended, and what came of it. */
export interface CaptureResult {
  readonly end: CaptureEnd;
  readonly packets: number;
  readonly lost: number;
  readonly bytes: number;
}

/** What a stream is made of. */
export interface StreamOptions {
  readonly capture: Capture;
  /** What the file says of itself. */
  readonly application: string;
  readonly comment: string;
  /** Addresses that are known, 4 or 16 bytes each. */
  readonly names: Parameters<typeof namesBlock>[0];
  readonly snaplen: number;
  readonly durationMs: number;
  readonly bytesMax: number;
  /** How often counts are sent; by default STATISTICS_MS. */
  readonly statisticsMs?: number;
  /** Counts packets that were captured, and that were lost, since it was called last. */
  readonly count: (packets: number, lost: number) => void;
  /** Called once, when nothing more is captured or sent. */
  readonly ended: (result: CaptureResult) => void;
}

/** The stream of one capture. */
export class CaptureStream extends Readable {
  readonly #options: StreamOptions;
  readonly #capture: Capture;
  readonly #packet = createCapturedPacket();
  /** By place. */
  readonly #taken = interfaces.map(() => 0);
  readonly #comments = new Map<string, Uint8Array>();
  /** By place: the comment on the last packet, because the next one mostly has the same. */
  readonly #last = interfaces.map((): LastComment | null => null);
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #beganMs = Date.now();
  #bytes = 0;
  #lost = 0;
  /** Blocks are made here, then copied: few packets must not keep a large buffer. */
  readonly #scratch = blockMemory(Buffer.allocUnsafe(CHUNK_BYTES + BLOCK_BYTES_MAX));
  /** Whether the client takes more. */
  #isWanted = false;
  /** Whether more packets may wait than were taken. */
  #hasMore = false;
  #mayTakeSoon = true;
  #end: CaptureEnd | null = null;
  #isOver = false;

  constructor(options: StreamOptions) {
    super({ highWaterMark: WAITING_BYTES });
    this.#options = options;
    this.#capture = options.capture;
    this.#send(sectionHeader(options.application, options.comment));
    for (const one of interfaces) this.#send(interfaceBlock(one, options.snaplen));
    if (options.names.length > 0) this.#send(namesBlock(options.names));
    this.#timers.push(
      setInterval(() => this.#take(), TAKE_MS),
      setInterval(() => this.#sendStatistics(), options.statisticsMs ?? STATISTICS_MS),
      setTimeout(() => this.finish('duration'), options.durationMs),
    );
  }

  /** Ends the capture; what was captured before is still sent. */
  finish(end: CaptureEnd): void {
    if (this.#end !== null || this.#isOver) return;
    this.#end = end;
    this.#capture.stop();
    if (end === 'access' || end === 'stop') return this.#close();
    this.#timers.push(setTimeout(() => this.#close(), REST_MS));
    this.#take();
  }

  override _read(): void {
    this.#isWanted = true;
    if (this.#hasMore || this.#end !== null) this.#takeSoon();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#over(this.#end ?? 'client');
    callback(error);
  }

  // ---- packets -------------------------------------------------------------------------------

  /** Takes what waits, as far as the client takes more. */
  #take(): void {
    if (this.#isOver) return;
    let left = TURN_BYTES;
    while (this.#isWanted && left > 0) {
      const chunk = this.#nextChunk();
      if (chunk.length === 0) break;
      left -= chunk.length;
      this.#send(chunk);
    }
    this.#countLost();
    if (this.#end === 'bytes') return this.#close();
    if (left <= 0) this.#takeSoon();
    else if (this.#end !== null && this.#isWanted) this.#close();
  }

  /** Takes the rest after others have had their turn. */
  #takeSoon(): void {
    if (!this.#mayTakeSoon) return;
    this.#mayTakeSoon = false;
    const timer = setTimeout(() => {
      this.#mayTakeSoon = true;
      this.#take();
    }, 1);
    timer.unref();
  }

  /** Blocks of the packets that wait, about CHUNK_BYTES of them. */
  #nextChunk(): Buffer {
    const packet = this.#packet;
    let [at, packets] = [0, 0];
    while (at < CHUNK_BYTES && this.#end !== 'bytes' && this.#capture.take(packet)) {
      const fields = {
        interface: packet.place,
        wallMs: packet.wallMs,
        length: packet.length,
        bytes: packet.bytes,
        isOutbound: packet.isOutbound,
        comment: this.#commentOn(packet),
      };
      if (this.#bytes + at + packetBlockBytes(fields) + LAST_BYTES > this.#options.bytesMax) {
        this.#end = 'bytes';
        break;
      }
      at = writePacketBlock(this.#scratch, at, fields);
      this.#taken[packet.place] = (this.#taken[packet.place] ?? 0) + 1;
      packets += 1;
    }
    this.#hasMore = at >= CHUNK_BYTES;
    this.#capture.free();
    if (packets > 0) this.#options.count(packets, 0);
    return Buffer.from(this.#scratch.bytes.subarray(0, at));
  }

  #commentOn(packet: CapturedPacket): Uint8Array {
    const last = this.#last[packet.place];
    if (last != null && hasSameComment(last, packet)) return last.comment;
    const { reason, by, rule, flow, segmentBytes } = packet;
    const comment = this.#newCommentOn(packet);
    this.#last[packet.place] = { reason, by, rule, flow, segmentBytes, comment };
    return comment;
  }

  #newCommentOn(packet: CapturedPacket): Uint8Array {
    const text = commentOn(packet);
    const known = this.#comments.get(text);
    if (known !== undefined) return known;
    const bytes = Buffer.from(text);
    if (this.#comments.size >= COMMENTS_MAX) this.#comments.clear();
    this.#comments.set(text, bytes);
    return bytes;
  }

  #send(bytes: Buffer): void {
    this.#bytes += bytes.length;
    this.#isWanted = this.push(bytes);
  }

  // ---- counts and the end --------------------------------------------------------------------

  #countLost(): void {
    const lost = interfaces.reduce((sum, { place }) => sum + this.#capture.lost(place), 0);
    if (lost > this.#lost) this.#options.count(0, lost - this.#lost);
    this.#lost = lost;
  }

  /** Sends the counts; where the client does not read, they would only pile up. */
  #sendStatistics(comment?: string): void {
    if (!this.#isWanted && comment === undefined) return;
    const nowMs = Date.now();
    const blocks = interfaces.map(({ place }) => {
      const lost = this.#capture.lost(place);
      const received = (this.#taken[place] ?? 0) + lost;
      const counts = { received, lost, beganMs: this.#beganMs, nowMs };
      return statisticsBlock({
        interface: place,
        ...counts,
        ...(comment === undefined ? {} : { comment }),
      });
    });
    const bytes = Buffer.concat(blocks);
    if (comment === undefined && this.#bytes + bytes.length + LAST_BYTES > this.#options.bytesMax) {
      this.#end = 'bytes';
      return this.#close();
    }
    this.#send(bytes);
  }

  /** Ends the stream with the last counts; packets that still wait are lost. */
  #close(): void {
    if (this.#isOver) return;
    if (this.#end !== 'bytes') this.#capture.loseRest();
    this.#countLost();
    const end = this.#end ?? 'stop';
    this.#sendStatistics(`It ended: ${ENDS[end]}`);
    this.push(null);
    this.#over(end);
  }

  #over(end: CaptureEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#countLost();
    this.#capture.end();
    const packets = this.#taken.reduce((sum, count) => sum + count, 0);
    this.#options.ended({ end, packets, lost: this.#lost, bytes: this.#bytes });
  }
}

/** What a comment is made of. */
type Commented = Pick<CapturedPacket, 'reason' | 'by' | 'rule' | 'flow' | 'segmentBytes'>;
type LastComment = Commented & { readonly comment: Uint8Array };

function hasSameComment(a: Commented, b: Commented): boolean {
  return (
    a.rule === b.rule &&
    a.segmentBytes === b.segmentBytes &&
    a.reason === b.reason &&
    a.by === b.by &&
    a.flow === b.flow
  );
}

const ENDS: Readonly<Record<CaptureEnd, string>> = {
  duration: 'its time was over.',
  bytes: 'it had as many bytes as were asked for.',
  client: 'the client went away.',
  access: 'whoever asked for it may not any more.',
  stop: 'the gateway stops.',
};

/** Verdict, reason and what decided, in the words of docs/api.md#capturing-packets. */
export function commentOn({ reason, by, rule, flow, segmentBytes }: Commented): string {
  const decided = {
    rule: rule === null ? 'a rule of the other side' : `rule ${rule}`,
    default: 'default action',
    nothing: flow === 'none' ? '' : 'no rule is asked',
    gateway: 'answer of the gateway',
  }[by];
  return [
    reason === 'none' ? 'accept' : `drop; ${reason}`,
    ...(decided === '' ? [] : [decided]),
    ...(segmentBytes === 0
      ? []
      : segmentBytes === UNFINISHED_CHECKSUM
        ? ['checksum not complete']
        : [`joined, segments of ${segmentBytes} bytes`]),
  ].join('; ');
}
