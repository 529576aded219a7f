// Where what becomes of flows is reported: in the log of the gateway, a line for each, or to a
// collector of IPFIX over UDP. Neither ever holds anybody up: what cannot be reported is counted.

import { createHash } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FlowCollector } from '../../../config/index.ts';
import { formatAddress, type LoggedFlow } from '../../../dataplane/index.ts';
import { protocolName } from '../live/gateway.ts';
import type { Log } from '../../kit/process/log.ts';
import { messageOf } from '../../kit/process/message.ts';
import { showTime } from '../../kit/records/shown.ts';
import { IpfixMessages } from './ipfix.ts';

/** Takes what becomes of flows. */
export interface FlowTarget {
  take(flow: LoggedFlow): void;
  /** Called when there is no more for the moment. */
  flush(): void;
  /** Called when the gateway stops: what is taken from now on cannot be reported later. */
  hurry(): void;
  /** Records that were not reported so far. */
  readonly unsent: number;
  /** Ends it; resolves when what was handed over has left, or cannot leave any more. */
  close(): Promise<void>;
}

// ---- the log ---------------------------------------------------------------------------------

/** Lines in a second at most, until the stop: each takes some 20 us of the main thread. */
const LINES_PER_SECOND = 2_000;

/** What lines name beside what the data plane knows. */
export interface NamedInLines {
  readonly gatewayId: string;
  /** The device that has a public key or had it lately, and its owner; null: there is none. */
  readonly deviceIdOf: (publicKey: string) => string | null;
  readonly ownerIdOf: (publicKey: string) => string | null;
}

/** Writes lines to the log. */
export class LogTarget implements FlowTarget {
  readonly #log: Log;
  readonly #named: NamedInLines;
  readonly #now: () => number;
  #second = 0;
  #lines = 0;
  #hasPace = true;
  unsent = 0;

  constructor(log: Log, named: NamedInLines, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#named = named;
    this.#now = now;
  }

  take(flow: LoggedFlow): void {
    const second = Math.floor(this.#now() / 1_000);
    if (second !== this.#second) this.#lines = 0;
    this.#second = second;
    if (++this.#lines > LINES_PER_SECOND && this.#hasPace) this.unsent++;
    else this.#log.info(this.#fieldsOf(flow), `flow ${flow.event}`);
  }

  #fieldsOf(flow: LoggedFlow): object {
    const { gatewayId } = this.#named;
    const own = flow.event === 'refused' ? ofRefusal(flow) : ofFlow(flow);
    return { ...this.#endsOf(flow), ...own, gateway_id: gatewayId };
  }

  #endsOf({ opener, target, source, destination, ...flow }: LoggedFlow): object {
    const { deviceIdOf, ownerIdOf } = this.#named;
    const isReadable = flow.version !== 0;
    return {
      source: isReadable ? formatAddress(source) : null,
      source_device_id: opener === null ? null : deviceIdOf(opener),
      source_user_id: opener === null ? null : ownerIdOf(opener),
      destination: isReadable ? formatAddress(destination) : null,
      port: flow.destinationPort,
      destination_device_id: target === null ? null : deviceIdOf(target),
      destination_user_id: target === null ? null : ownerIdOf(target),
      protocol: isReadable ? protocolName(flow.protocol) : null,
    };
  }

  flush(): void {}

  /** All flows end at once then, and the stop has a limit of its own. */
  hurry(): void {
    this.#hasPace = false;
  }

  async close(): Promise<void> {}
}

function ofRefusal(flow: LoggedFlow): object {
  return {
    reason: flow.reason,
    rule_id: flow.rule,
    packets: flow.sentPackets,
    bytes: flow.sentBytes,
    first_at: timeOf(flow.openedMs),
    last_at: timeOf(flow.latestMs),
  };
}

function ofFlow(flow: LoggedFlow): object {
  const opened = {
    source_port: flow.sourcePort,
    decided_by: flow.by,
    rule_id: flow.rule,
    opened_at: timeOf(flow.openedMs),
  };
  if (flow.event === 'opened') return opened;
  return {
    ...opened,
    answered: flow.isAnswered,
    sent_packets: flow.sentPackets,
    sent_bytes: flow.sentBytes,
    reply_packets: flow.replyPackets,
    reply_bytes: flow.replyBytes,
    last_seen_at: timeOf(flow.latestMs),
    ended_at: timeOf(flow.atMs),
    ended_because: flow.because,
  };
}

function timeOf(ms: number): string {
  return showTime(new Date(ms));
}

// ---- a collector -----------------------------------------------------------------------------

/** How often templates are sent again and the name is resolved again: either may be lost. */
const AGAIN_MS = 60_000;
/** How soon a name is asked for again that could not be resolved. */
const RETRY_MS = 5_000;
/** How long messages may take to leave at the end, and how often that is looked at. */
const LEAVE_MS = 1_000;
const LEAVE_STEP_MS = 5;
/** Messages that the kernel has not taken yet. */
const WAITING_MAX = 256;

/** Sends messages of IPFIX to a collector. */
export class IpfixTarget implements FlowTarget {
  readonly #collector: FlowCollector;
  readonly #log: Log;
  readonly #messages: IpfixMessages;
  readonly #wallMs: () => number;
  /** Null until the name is resolved. */
  #to: { readonly socket: Socket; readonly address: string } | null = null;
  #timer: NodeJS.Timeout | undefined;
  #waiting = 0;
  #records = 0;
  #error: string | null = null;
  #isClosed = false;
  unsent = 0;

  constructor(
    collector: FlowCollector,
    gatewayId: string,
    log: Log,
    wallMs: () => number = () => Date.now(),
  ) {
    this.#collector = collector;
    this.#log = log;
    this.#wallMs = wallMs;
    this.#messages = new IpfixMessages(domainOf(gatewayId));
    void this.#resolve();
  }

  take(flow: LoggedFlow): void {
    // Packets that could not be read have no addresses, and IPFIX has no field for that.
    if (flow.version === 0) {
      this.unsent++;
      return;
    }
    const full = this.#messages.add(flow, this.#wallMs());
    // All records before this one are in the messages that are full.
    for (const message of full) this.#sendRecords(message);
    this.#records++;
  }

  flush(): void {
    const message = this.#messages.flush(this.#wallMs());
    if (message !== null) this.#sendRecords(message);
  }

  /** Nothing to do: the log gets everything at once. */
  hurry(): void {}

  #sendRecords(message: Buffer): void {
    const count = this.#records;
    this.#records = 0;
    this.#send(message, count);
  }

  #send(message: Buffer, count: number): void {
    if (this.#to === null || this.#waiting >= WAITING_MAX) {
      this.unsent += count;
      return;
    }
    const { socket, address } = this.#to;
    this.#waiting++;
    socket.send(message, this.#collector.port, address, (error) => {
      this.#waiting--;
      if (error === null) return;
      this.unsent += count;
      this.#report(error.message);
    });
  }

  /** Resolves the name, and sends the templates; again after some time. */
  async #resolve(): Promise<void> {
    let again = AGAIN_MS;
    try {
      const { address, family } = await lookup(this.#collector.host);
      if (this.#isClosed) return;
      if (this.#to?.address !== address) this.#connect(address, family);
      this.#error = null;
      this.#send(this.#messages.templates(this.#wallMs()), 0);
    } catch (error) {
      again = RETRY_MS;
      this.#report(messageOf(error));
    }
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#resolve(), again).unref();
  }

  #connect(address: string, family: number): void {
    this.#to?.socket.close();
    const socket = createSocket(family === 6 ? 'udp6' : 'udp4').unref();
    socket.on('error', (error) => this.#report(error.message));
    this.#to = { socket, address };
  }

  /** Logs an error once, until it is another one or the name is resolved. */
  #report(error: string): void {
    if (error === this.#error || this.#isClosed) return;
    this.#error = error;
    const { host, port } = this.#collector;
    this.#log.warn(
      { host, port, fault: error },
      'records of flows cannot be sent to the collector',
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    // A socket that is closed forgets what it has not sent yet.
    for (let waitedMs = 0; this.#waiting > 0 && waitedMs < LEAVE_MS; waitedMs += LEAVE_STEP_MS)
      await sleep(LEAVE_STEP_MS);
    this.#to?.socket.close();
    this.#to = null;
  }
}

/** The number by which a collector knows a gateway: of its id, the same after each start. */
function domainOf(gatewayId: string): number {
  return createHash('sha256').update(gatewayId).digest().readUInt32BE(0);
}
