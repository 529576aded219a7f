// The captures of a gateway that run, and their packets from the rings of all workers, in the order
// of their times.

import {
  type CapturedPacket,
  CaptureReader,
  createCapturedPacket,
  createCaptureRing,
} from '../rings/capture-ring.ts';
import { MAX_CAPTURES } from '../constants.ts';
import type { CaptureOrder } from '../path/capture.ts';

/** A capture that runs. */
export interface Capture {
  /** Fills in the next packet; false: none waits. Its bytes are valid until `free`. */
  take(packet: CapturedPacket): boolean;
  /** Gives the memory of what was taken back to the workers. */
  free(): void;
  /** Packets of a place (FROM_DEVICE and so on) that were lost, because nobody took the others. */
  lost(place: number): number;
  /** Ends it for the workers; what was captured can still be taken. */
  stop(): void;
  /** Counts what still waits as lost. */
  loseRest(): void;
  /** Ends it; another one may begin. */
  end(): void;
}

/** One capture as its gateway sees it. */
interface Running {
  /** Below MAX_CAPTURES. */
  readonly number: number;
  readonly order: CaptureOrder;
  /** By worker. */
  readonly rings: readonly SharedArrayBuffer[];
  readonly capture: JoinedCapture;
}

/** The captures that run, at most MAX_CAPTURES. */
export class RunningCaptures {
  readonly #running = new Map<number, Running>();

  get all(): Iterable<Running> {
    return this.#running.values();
  }

  /** Makes what a capture needs; null while as many run as can. */
  begin(order: CaptureOrder, workers: number): Running | null {
    let number = 0;
    while (this.#running.has(number)) number++;
    if (number >= MAX_CAPTURES) return null;
    const rings = Array.from({ length: workers }, createCaptureRing);
    const capture = new JoinedCapture(rings, () => {
      if (this.#running.get(number)?.capture === capture) this.#running.delete(number);
    });
    const running = { number, order, rings, capture };
    this.#running.set(number, running);
    return running;
  }
}

/** The packets of one capture, from all workers. */
class JoinedCapture implements Capture {
  /** Tells the workers that it has ended. */
  onStop: () => void = () => undefined;
  readonly #readers: readonly CaptureReader[];
  readonly #forget: () => void;
  /** By place: what was left in the rings at the end. */
  readonly #rest = new Map<number, number>();
  #hasStopped = false;

  constructor(rings: readonly SharedArrayBuffer[], forget: () => void) {
    this.#readers = rings.map((ring) => new CaptureReader(ring));
    this.#forget = forget;
  }

  take(packet: CapturedPacket): boolean {
    let [first, firstMs]: [CaptureReader | null, number] = [null, Number.POSITIVE_INFINITY];
    for (const reader of this.#readers) {
      const { nextMs } = reader;
      if (nextMs < firstMs) [first, firstMs] = [reader, nextMs];
    }
    first?.take(packet);
    return first !== null;
  }

  free(): void {
    for (const reader of this.#readers) reader.free();
  }

  lost(place: number): number {
    const rest = this.#rest.get(place) ?? 0;
    return this.#readers.reduce((sum, reader) => sum + reader.lost(place), rest);
  }

  stop(): void {
    if (this.#hasStopped) return;
    this.#hasStopped = true;
    this.onStop();
  }

  loseRest(): void {
    const packet = createCapturedPacket();
    while (this.take(packet)) this.#rest.set(packet.place, (this.#rest.get(packet.place) ?? 0) + 1);
    this.free();
  }

  end(): void {
    this.stop();
    this.#forget();
  }
}
