// A capture over HTTP that a test reads while it runs.

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { readPcapng, type ReadFile } from '../network/pcapng.ts';

const WAIT_MS = 10_000;

/** A gateway that listens, and one of its devices. */
export interface CaptureTarget {
  readonly url: string;
  readonly laptop: { readonly id: string };
}

/** Waits until something holds. */
export async function untilHolds(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + WAIT_MS;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('it does not come');
    await sleep(10);
  }
}

/** A capture that is read while it runs. */
export class RunningCapture {
  readonly response: IncomingMessage;
  readonly #chunks: Buffer[] = [];
  #hasEnded = false;

  private constructor(response: IncomingMessage) {
    this.response = response;
    response.on('data', (chunk: Buffer) => this.#chunks.push(chunk));
    response.on('end', () => (this.#hasEnded = true));
    response.on('error', () => undefined);
  }

  /** Begins one; resolves when the headers of the answer are there. */
  static async begin(
    { url, laptop }: CaptureTarget,
    query: string,
    token: string,
  ): Promise<RunningCapture> {
    const sent = request(`${url}/v0/devices/${laptop.id}/capture?${query}`, {
      headers: { authorization: `Bearer ${token}` },
      agent: false,
    });
    sent.on('error', () => undefined);
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    sent.end();
    const [response] = await answered;
    return new RunningCapture(response);
  }

  /** What has come so far. */
  get file(): ReadFile {
    return readPcapng(Buffer.concat(this.#chunks));
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Waits until so many packets are there. */
  async packets(count: number): Promise<ReadFile['packets']> {
    await untilHolds(() => this.file.packets.length >= count);
    return this.file.packets;
  }

  /** Waits until the gateway ends it. */
  async end(): Promise<ReadFile> {
    await untilHolds(() => this.#hasEnded);
    return this.file;
  }

  /** Goes away. */
  leave(): void {
    this.response.destroy();
  }
}
