// The packets of a device of a gateway in a test, as `GET /v0/devices/{id}/capture` streams them.
// They are read from the packet path itself: a stream would have to be waited for.

import {
  type Capture,
  type CaptureOrder,
  createCapturedPacket,
  FROM_DEVICE,
  type ReasonName,
  TO_DEVICE,
} from '../../dataplane/index.ts';
import { commentOn } from '../observe/capture/stream.ts';
import { orderOf, validateWish, type Wishes } from '../observe/capture/wishes.ts';
import { inSentences, hasNoErrors } from '../kit/validation/validate.ts';
import { refuseUnknownOptions } from './options.ts';

/** Which packets are captured, and how much of each: parameters of the API. */
export type CaptureWish = Partial<Omit<Wishes, 'duration' | 'bytes'>>;

const OPTIONS = ['destination', 'protocol', 'port', 'only', 'snaplen', 'payload'] as const;

/** A packet of a device. */
export interface TestPacket {
  readonly place: 'from device' | 'to device' | 'refused';
  /** Why it was refused; null: it was not. */
  readonly reason: Exclude<ReasonName, 'none'> | null;
  /** The rule that decided; null: none did, or it is not known. */
  readonly rule_id: string | null;
  /** What Wireshark shows as its comment: `drop; rule_drop; rule ID`. */
  readonly comment: string;
  /** Bytes of the whole packet. */
  readonly length: number;
  /** From its IP header on, as many as were asked for. */
  readonly bytes: Buffer;
  readonly at: Date;
}

/** A capture that runs until it is stopped; two may run at a gateway. */
export class TestCapture implements Disposable {
  readonly #capture: Capture;
  readonly #packets: TestPacket[] = [];
  readonly #places = [FROM_DEVICE, TO_DEVICE];
  #isOver = false;

  constructor(capture: Capture) {
    this.#capture = capture;
  }

  /** All packets since it began. */
  packets(): readonly TestPacket[] {
    const packet = createCapturedPacket();
    while (!this.#isOver && this.#capture.take(packet)) {
      const { reason, rule, length, bytes, wallMs } = packet;
      const place = (['from device', 'to device'] as const)[this.#places.indexOf(packet.place)];
      this.#packets.push({
        place: place ?? 'refused',
        reason: reason === 'none' ? null : reason,
        rule_id: rule,
        comment: commentOn(packet),
        length,
        bytes: Buffer.from(bytes),
        at: new Date(wallMs),
      });
    }
    this.#capture.free();
    return this.#packets;
  }

  /** Ends it; all packets that it has. */
  stop(): readonly TestPacket[] {
    const packets = this.packets();
    if (!this.#isOver) this.#capture.end();
    this.#isOver = true;
    return packets;
  }

  [Symbol.dispose](): void {
    this.stop();
  }
}

/** Begins a capture of the device with a key. */
export async function beginCapture(
  { capture }: { readonly capture: (order: CaptureOrder) => Promise<Capture | null> },
  publicKey: string,
  wish: CaptureWish,
): Promise<TestCapture> {
  refuseUnknownOptions('capture', wish, OPTIONS);
  const { values, errors } = validateWish(wish);
  if (!hasNoErrors(errors)) throw new TypeError(`capture: ${JSON.stringify(inSentences(errors))}`);
  const begun = await capture(orderOf(publicKey, values));
  if (begun === null) throw new Error('two captures run at this gateway already; stop one');
  return new TestCapture(begun);
}
