// Messages of IPFIX (RFC 7011): templates, and records of flows that opened, ended or were refused.
// Each side of a flow is a record of its own, so that every collector adds up the same. The fields
// are those of the registry of IANA.

import type { EndReason, LoggedFlow } from '../../../dataplane/index.ts';

/** Bytes of a message at most: it fits into one packet on every path. */
const MESSAGE_BYTES_MAX = 1_400;
const HEADER_BYTES = 16;
const SET_HEADER_BYTES = 4;
const VERSION = 10;
const TEMPLATE_SET = 2;

/** Information elements, with their numbers and lengths. */
const element = {
  octetDeltaCount: [1, 8],
  packetDeltaCount: [2, 8],
  protocolIdentifier: [4, 1],
  sourceTransportPort: [7, 2],
  sourceIPv4Address: [8, 4],
  destinationTransportPort: [11, 2],
  destinationIPv4Address: [12, 4],
  sourceIPv6Address: [27, 16],
  destinationIPv6Address: [28, 16],
  forwardingStatus: [89, 1],
  droppedOctetDeltaCount: [132, 8],
  droppedPacketDeltaCount: [133, 8],
  flowEndReason: [136, 1],
  flowStartMilliseconds: [152, 8],
  flowEndMilliseconds: [153, 8],
  firewallEvent: [233, 1],
} as const;

type Element = keyof typeof element;

const PORTS = ['sourceTransportPort', 'destinationTransportPort'] as const;
const REST = [
  ...PORTS,
  'protocolIdentifier',
  'firewallEvent',
  'forwardingStatus',
  'flowStartMilliseconds',
  'flowEndMilliseconds',
] as const;
const CARRIED = ['octetDeltaCount', 'packetDeltaCount'] as const;
/** Apart from what was carried, so that a scan of ports is no traffic. */
const DROPPED_COUNTS = ['droppedOctetDeltaCount', 'droppedPacketDeltaCount'] as const;
const IPV4 = ['sourceIPv4Address', 'destinationIPv4Address'] as const;
const IPV6 = ['sourceIPv6Address', 'destinationIPv6Address'] as const;

/** Templates by what becomes of a flow, and by the version of IP. */
const TEMPLATE_OF = {
  opened: { 4: 256, 6: 257 },
  ended: { 4: 258, 6: 259 },
  refused: { 4: 260, 6: 261 },
} as const;

type Template = 256 | 257 | 258 | 259 | 260 | 261;

/** By number: what a record has. A flow that ended also says why. */
const TEMPLATES: Readonly<Record<Template, readonly Element[]>> = {
  256: [...IPV4, ...REST, ...CARRIED],
  257: [...IPV6, ...REST, ...CARRIED],
  258: [...IPV4, ...REST, ...CARRIED, 'flowEndReason'],
  259: [...IPV6, ...REST, ...CARRIED, 'flowEndReason'],
  260: [...IPV4, ...REST, ...DROPPED_COUNTS],
  261: [...IPV6, ...REST, ...DROPPED_COUNTS],
};

/** By template: bytes of a record. */
const LENGTHS = Object.fromEntries(
  Object.entries(TEMPLATES).map(([template, elements]) => [
    template,
    elements.reduce((sum, name) => sum + element[name][1], 0),
  ]),
) as Record<Template, number>;

/** forwardingStatus (RFC 7270): forwarded, dropped. Some collectors do not know firewallEvent. */
const FORWARDED = 64;
const DROPPED = 128;

const FIREWALL_EVENTS = { opened: 1, ended: 2, refused: 3 } as const;

/** flowEndReason: 1 idle, 3 end of flow detected, 4 forced end, 5 lack of resources. */
const END_REASONS: Readonly<Record<EndReason, number>> = {
  finished: 3,
  reset: 3,
  idle: 1,
  refused: 4,
  device_removed: 4,
  no_room: 5,
  replaced: 4,
  gateway_stopped: 4,
};

/** Puts records into messages of one observation domain. */
export class IpfixMessages {
  readonly #domain: number;
  #message = Buffer.alloc(MESSAGE_BYTES_MAX);
  #at = HEADER_BYTES;
  /** Where the set begins that is written, and its template; 0: none is. */
  #setAt = 0;
  #setTemplate = 0;
  /** Records in the message, and in all messages before it. */
  #records = 0;
  #sequence = 0;

  /** `domain`: the number by which a collector knows this exporter, 32 bits. */
  constructor(domain: number) {
    this.#domain = domain;
  }

  /** The message that tells what records mean. */
  templates(wallMs: number): Buffer {
    const sets = Object.entries(TEMPLATES).map(([template, elements]) => {
      const set = Buffer.alloc(4 + 4 * elements.length);
      set.writeUInt16BE(Number(template), 0);
      set.writeUInt16BE(elements.length, 2);
      for (const [i, name] of elements.entries()) {
        const [number, length] = element[name];
        set.writeUInt16BE(number, 4 + 4 * i);
        set.writeUInt16BE(length, 6 + 4 * i);
      }
      return set;
    });
    const body = Buffer.concat(sets);
    const message = Buffer.alloc(HEADER_BYTES + SET_HEADER_BYTES + body.length);
    this.#writeHeader(message, wallMs);
    message.writeUInt16BE(TEMPLATE_SET, HEADER_BYTES);
    message.writeUInt16BE(SET_HEADER_BYTES + body.length, HEADER_BYTES + 2);
    body.copy(message, HEADER_BYTES + SET_HEADER_BYTES);
    return message;
  }

  /**
   * Adds a flow whose addresses are known: a record for each side that sent. Returns the messages
   * that are full by that.
   */
  add(flow: LoggedFlow, wallMs: number): Buffer[] {
    const full: Buffer[] = [];
    this.#addSide(flow, false, wallMs, full);
    if (flow.replyPackets > 0) this.#addSide(flow, true, wallMs, full);
    return full;
  }

  /** Ends the message that was begun; null: none was. */
  flush(wallMs: number): Buffer | null {
    if (this.#records === 0) return null;
    this.#endSet();
    const message = Buffer.from(this.#message.subarray(0, this.#at));
    this.#writeHeader(message, wallMs);
    this.#sequence = (this.#sequence + this.#records) >>> 0;
    this.#records = 0;
    this.#at = HEADER_BYTES;
    return message;
  }

  #addSide(flow: LoggedFlow, isReply: boolean, wallMs: number, full: Buffer[]): void {
    const template = TEMPLATE_OF[flow.event][flow.version === 6 ? 6 : 4];
    const elements = TEMPLATES[template];
    const length = LENGTHS[template];
    const header = this.#setTemplate === template ? 0 : SET_HEADER_BYTES;
    if (this.#at + header + length > MESSAGE_BYTES_MAX) {
      const message = this.flush(wallMs);
      if (message !== null) full.push(message);
    }
    if (this.#setTemplate !== template) this.#beginSet(template);
    for (const name of elements) this.#write(name, flow, isReply);
    this.#records++;
  }

  #beginSet(template: number): void {
    this.#endSet();
    this.#setAt = this.#at;
    this.#setTemplate = template;
    this.#message.writeUInt16BE(template, this.#at);
    this.#at += SET_HEADER_BYTES;
  }

  #endSet(): void {
    if (this.#setAt !== 0) this.#message.writeUInt16BE(this.#at - this.#setAt, this.#setAt + 2);
    this.#setAt = 0;
    this.#setTemplate = 0;
  }

  #write(name: Element, flow: LoggedFlow, isReply: boolean): void {
    const [, length] = element[name];
    const value = valueOf(name, flow, isReply);
    const message = this.#message;
    const at = this.#at;
    if (value instanceof Uint8Array) message.set(value, at);
    else if (length === 1) message[at] = value;
    else if (length === 2) message.writeUInt16BE(value, at);
    else {
      // Counts and times are whole numbers below 2^53; BigInt costs an object for each.
      message.writeUInt32BE(Math.floor(value / 0x1_0000_0000), at);
      message.writeUInt32BE(value >>> 0, at + 4);
    }
    this.#at += length;
  }

  #writeHeader(message: Buffer, wallMs: number): void {
    message.writeUInt16BE(VERSION, 0);
    message.writeUInt16BE(message.length, 2);
    message.writeUInt32BE(Math.floor(wallMs / 1_000) >>> 0, 4);
    message.writeUInt32BE(this.#sequence, 8);
    message.writeUInt32BE(this.#domain, 12);
  }
}

function valueOf(name: Element, flow: LoggedFlow, isReply: boolean): number | Uint8Array {
  switch (name) {
    case 'octetDeltaCount':
    case 'droppedOctetDeltaCount':
      return isReply ? flow.replyBytes : flow.sentBytes;
    case 'packetDeltaCount':
    case 'droppedPacketDeltaCount':
      return isReply ? flow.replyPackets : flow.sentPackets;
    case 'protocolIdentifier':
      return flow.protocol;
    case 'sourceTransportPort':
      return (isReply ? flow.destinationPort : flow.sourcePort) ?? 0;
    case 'destinationTransportPort':
      return (isReply ? flow.sourcePort : flow.destinationPort) ?? 0;
    case 'sourceIPv4Address':
    case 'sourceIPv6Address':
      return isReply ? flow.destination : flow.source;
    case 'destinationIPv4Address':
    case 'destinationIPv6Address':
      return isReply ? flow.source : flow.destination;
    case 'flowEndReason':
      return flow.because === null ? 0 : END_REASONS[flow.because];
    case 'flowStartMilliseconds':
      return flow.openedMs;
    case 'flowEndMilliseconds':
      return flow.latestMs;
    case 'forwardingStatus':
      return flow.event === 'refused' ? DROPPED : FORWARDED;
    case 'firewallEvent':
      return FIREWALL_EVENTS[flow.event];
  }
}
