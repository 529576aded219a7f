// `postern capture`: the packets of a device, from the gateway that runs to standard output.

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import process from 'node:process';
import type { Writable } from 'node:stream';
import { WholeBlocks } from '../observe/capture/whole-blocks.ts';
import { commandLine } from '../kit/process/command-line.ts';
import { messageOf } from '../kit/process/message.ts';
import { UsageError } from '../kit/process/usage-error.ts';
import type { LocalGateway } from './ask-gateway.ts';
import type { Hints } from './error-words.ts';
import type { Named } from './row.ts';
import type { Command, Options, Outcome } from './run.ts';
import { printable } from './text-table.ts';

const HINTS: Hints = {
  destination: '--destination 10.0.0.5 or 10.0.0.0/8',
  protocol: '--protocol tcp, udp or icmp',
  port: '--port 1 to 65535',
  snaplen: '--snaplen 20 to 65535',
  duration: '--duration 1 to 3600, in seconds',
  bytes: '--bytes 4096 to 1073741824',
};
/** How often people see how far it is. */
const PROGRESS_MS = 1_000;

/** Where a capture goes, and what ends it. */
export interface CaptureEnds {
  readonly out: Writable & { readonly isTTY?: boolean };
  readonly notes: Writable & { readonly isTTY?: boolean };
  /** Calls back when a person ends it. */
  readonly onInterrupt: (end: () => void) => void;
}

const ofProcess: CaptureEnds = {
  out: process.stdout,
  notes: process.stderr,
  onInterrupt: (end) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
  },
};

/** Captures the packets of a device until it is ended here or there. */
export async function captureDevice(
  gateway: LocalGateway,
  { operand, options }: Command,
  ends: CaptureEnds = ofProcess,
): Promise<Outcome> {
  const word = operand ?? '';
  if (ends.out.isTTY === true)
    throw new UsageError(
      `packets are not for a terminal; write them to a file: ${commandLine(`capture ${word} > file.pcapng`)}`,
    );
  const device = await gateway.finds.device(word);
  const path = `/v0/devices/${device.id}/capture?${queryOf(options).toString()}`;
  const response = await gateway.open('GET', path, undefined, HINTS);
  const blocks = new WholeBlocks();
  const bytes = await write(response, blocks, device, ends);
  const data = { device_id: device.id, packets: blocks.packets, lost: blocks.lost, bytes };
  return { text: '', data, isWritten: true };
}

function queryOf(options: Options): URLSearchParams {
  const { destination, protocol, port, snaplen, duration, bytes } = options;
  const asked = { destination, protocol, port, snaplen, duration, bytes };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asked))
    if (value !== undefined) query.set(name, value);
  if (options.payload) query.set('payload', 'true');
  if (options.onlyRefused) query.set('only', 'refused');
  return query;
}

/** Writes what arrives, and says how far it is; returns how many bytes were written. */
async function write(
  response: IncomingMessage,
  blocks: WholeBlocks,
  device: Named,
  { out, notes, onInterrupt }: CaptureEnds,
): Promise<number> {
  const began = performance.now();
  const name = printable(device.name);
  let [bytes, isEnded] = [0, false];
  const end = (): void => {
    isEnded = true;
    response.destroy();
  };
  onInterrupt(end);
  let unwritten: Error | null = null;
  out.on('error', (error: NodeJS.ErrnoException) => {
    // EPIPE: the reader has gone away.
    if (error.code !== 'EPIPE') unwritten = error;
    end();
  });
  const say = (before: string, after: string): void => {
    const seconds = Math.round((performance.now() - began) / 1_000);
    const lost = blocks.lost === 0 ? '' : `, ${blocks.lost} lost`;
    notes.write(
      `${before}${name}: ${seconds} s, ${blocks.packets} packets, ${bytes} bytes${lost}${after}`,
    );
  };
  const isSeen = notes.isTTY === true;
  if (!isSeen) notes.write(`capturing packets of ${name}\n`);
  const progress = setInterval(() => isSeen && say('\r', '\u001b[K'), PROGRESS_MS);
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const whole = blocks.add(chunk);
      bytes += whole.length;
      if (!out.write(whole) && !isEnded)
        await Promise.race([once(out, 'drain'), once(response, 'close')]);
    }
  } catch (error) {
    if (!isEnded) throw new Error('the gateway broke the capture off', { cause: error });
  } finally {
    clearInterval(progress);
    say(isSeen ? '\r' : '', isSeen ? '\u001b[K\n' : '\n');
  }
  if (unwritten !== null)
    throw new Error(
      `the packets cannot be written, so the file is cut off: ${messageOf(unwritten)}`,
    );
  return bytes;
}
