// The captures that run at the gateway of this process: the audit trail says who began them, a
// caller who may not ask any more loses them, and all end when the gateway stops.

import { type Capture, type CaptureOrder, parseAddress } from '../../../dataplane/index.ts';
import {
  actAs,
  type DeviceRow,
  noteAction,
  type Origin,
  type Transaction,
  writeTransaction,
} from '../../../models/index.ts';
import { ApiError } from '../../kit/http/errors.ts';
import type { CaptureCounts } from '../gateway-state.ts';
import type { Caller } from '../../kit/process/caller.ts';
import { describeError } from '../../kit/process/log.ts';
import type { Shared } from '../../kit/process/shared.ts';
import { version } from '../../kit/process/version.ts';
import { checkActors } from '../../kit/records/actors.ts';
import { type CaptureResult, CaptureStream } from './stream.ts';
import { orderOf, type Wishes } from './wishes.ts';

/** How often it is checked whether the caller who began a capture may still have it. */
const ACCESS_MS = 5_000;

/** Captures at the gateway of this process. */
export interface CapturingGateway {
  /** The id of the gateway. */
  readonly id: string;
  /** Null: as many run as can. */
  readonly capture: (order: CaptureOrder) => Promise<Capture | null>;
}

/** What captures need of the server. */
export interface CapturesContext extends Pick<Shared, 'database' | 'log'> {
  /** Left out: there is no data plane. */
  readonly capturing?: CapturingGateway;
}

/** The device of a capture. */
type CapturedDevice = Pick<DeviceRow, 'id' | 'name' | 'public_key' | 'ipv4' | 'ipv6'>;

/** What the audit trail says of the place of a capture. */
interface AtGateway {
  readonly gateway_id: string;
}

/** The captures of one server. */
export class Captures {
  readonly #context: CapturesContext;
  readonly #running = new Set<CaptureStream>();
  /** Entries of the audit trail that are being written. */
  readonly #notes = new Set<Promise<void>>();
  #packets = 0;
  #lost = 0;

  constructor(context: CapturesContext) {
    this.#context = context;
  }

  /** Since this process began. */
  get counts(): CaptureCounts {
    return { running: this.#running.size, packets: this.#packets, lost: this.#lost };
  }

  /** Begins a capture for a caller; the capture ends when the caller may not have it any more. */
  async begin(caller: Caller, device: CapturedDevice, wishes: Wishes): Promise<CaptureStream> {
    const { capturing: gateway } = this.#context;
    if (gateway === undefined) throw new ApiError('service_unavailable');
    const order = orderOf(device.public_key, wishes);
    const capture = await gateway.capture(order);
    if (capture === null) throw new ApiError('too_many_captures');
    try {
      await this.#noteBegin(caller, device, { ...wishes, gateway_id: gateway.id });
    } catch (error) {
      capture.end();
      throw error;
    }
    const { origin } = caller;
    const { id, name, ipv4, ipv6 } = device;
    const names = [ipv4, ipv6].flatMap((text) => {
      const address = text === null ? null : parseAddress(text);
      return address === null ? [] : [{ address, name }];
    });
    const stream = new CaptureStream({
      capture,
      application: `Postern ${version}`,
      comment: `Packets of the device ${name} (${id}) at the gateway ${gateway.id}, captured for ${origin.email ?? origin.actor}.`,
      names,
      snaplen: order.snaplen,
      durationMs: 1_000 * wishes.duration,
      bytesMax: wishes.bytes,
      count: (packets, lost) => {
        this.#packets += packets;
        this.#lost += lost;
      },
      ended: (result) => {
        clearInterval(watch);
        this.#running.delete(stream);
        const noted = this.#noteEnd(origin, id, { ...result, gateway_id: gateway.id });
        this.#notes.add(noted);
        void noted.then(() => this.#notes.delete(noted));
      },
    });
    const watch = setInterval(() => void this.#endIfRefused(stream, caller), ACCESS_MS);
    this.#running.add(stream);
    return stream;
  }

  /** Ends all, because the gateway stops; resolves when that is in the audit trail. */
  async stop(): Promise<void> {
    for (const stream of this.#running) stream.finish('stop');
    await Promise.all(this.#notes);
  }

  /** Whoever asks is asked about again, with locks: nobody captures who may not write. */
  async #noteBegin(
    caller: Caller,
    { id }: Pick<DeviceRow, 'id'>,
    said: Wishes & AtGateway,
  ): Promise<void> {
    const { database } = this.#context;
    const changes = Object.fromEntries(Object.entries(said).map(([name, to]) => [name, { to }]));
    await writeTransaction(database, async (transaction) => {
      const refusal = await this.#refusalOf(caller, transaction);
      if (refusal !== null) throw refusal;
      note(transaction, caller.origin, { action: 'begin capture', recordId: id, changes });
    });
  }

  /** Why the caller may not have the capture any more; null: they may. */
  async #refusalOf({ letIn }: Caller, transaction: Transaction): Promise<ApiError | null> {
    const [refusal = null] = await checkActors(this.#context.database, [letIn], transaction);
    return refusal;
  }

  /** Where nobody can say it, because the database is away, the capture goes on. */
  async #endIfRefused(stream: CaptureStream, caller: Caller): Promise<void> {
    const { database } = this.#context;
    const asked = writeTransaction(database, (transaction) => this.#refusalOf(caller, transaction));
    const refusal = await asked.then(({ result }) => result).catch(() => null);
    if (refusal !== null) stream.finish('access');
  }

  async #noteEnd(
    origin: Origin,
    recordId: string,
    result: CaptureResult & AtGateway,
  ): Promise<void> {
    const { database, log } = this.#context;
    const changes = Object.fromEntries(Object.entries(result).map(([name, to]) => [name, { to }]));
    try {
      await writeTransaction(database, async (transaction) =>
        note(transaction, origin, { action: 'end capture', recordId, changes }),
      );
    } catch (error) {
      const fields = { device_id: recordId, ...result, err: describeError(error) };
      log.warn(fields, 'the end of a capture is not in the audit trail');
    }
  }
}

function note(
  transaction: Transaction,
  origin: Origin,
  entry: Omit<Parameters<typeof noteAction>[1], 'kind'>,
): void {
  actAs(transaction, origin);
  noteAction(transaction, { ...entry, kind: 'device' });
}
