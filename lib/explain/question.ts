// The question of an explanation: which packet is meant, as it is sent to the API and typed at the
// command line. docs/api.md#what-becomes-of-a-packet.

import { randomInt } from 'node:crypto';
import { askedPacket } from '../../dataplane/index.ts';
import { type Database, type DeviceRow, readDevices } from '../../models/index.ts';
import { choice, flag, integer, isUuid, reference, resource, trimmed } from '../judge/fields.ts';
import { addFault, type Faults, type Judged, judgeOf } from '../judge/judge.ts';
import { messages } from '../judge/messages.ts';
import { readAddress } from '../judge/network.ts';

const PORT_MAX = 65_535;
/** The ports that systems give to new connections (RFC 6335, section 6). */
const DYNAMIC_PORTS = [49_152, PORT_MAX] as const;

/** What is sent. */
export const questionFields = resource({
  device_id: reference('The device that sends the packet; either this or `source`.').allow(null),
  source: trimmed(
    'The address of a host behind the gateway that sends the packet; then `destination` is a device.',
  )
    .atMost(64)
    .allow(null),
  destination: trimmed('Where the packet goes: an address, or the id of a device.')
    .atMost(64)
    .required(),
  protocol: choice('The protocol; `icmp` is an echo request.', 'tcp', 'udp', 'icmp').required(),
  port: integer('The port of the destination; required for `tcp` and `udp`.', 1, PORT_MAX).allow(
    null,
  ),
  source_port: integer(
    'The port of the sender; left out: a new flow, from a port that is free.',
    1,
    PORT_MAX,
  ).allow(null),
  begins: flag(
    'Whether the packet begins a TCP connection; false: it comes in the middle of one.',
  ).default(true),
});

/** What was sent, once it is judged. */
export interface QuestionValues {
  readonly device_id?: string | null;
  readonly source?: string | null;
  readonly destination: string;
  readonly protocol: 'tcp' | 'udp' | 'icmp';
  readonly port?: number | null;
  readonly source_port?: number | null;
  readonly begins?: boolean;
}

/** Judges what was sent. */
export const judgeQuestion = judgeOf<QuestionValues>(questionFields);

/** A packet that somebody asks about, and the devices at its ends. */
export interface AskedPacket {
  /** The device that the question is about: the sender, or the receiver of what a host sends. */
  readonly device: DeviceRow;
  /** Whether the device sends it. */
  readonly isSent: boolean;
  readonly source: string;
  readonly destination: string;
  readonly protocol: QuestionValues['protocol'];
  readonly port: number | null;
  /** From its IP header on. */
  readonly packet: Uint8Array;
}

/** Finds what a question means; where it means nothing, there are faults and no packet. */
export async function readQuestion(
  database: Database,
  { values, faults }: Judged<QuestionValues>,
): Promise<{ asked: AskedPacket | null; faults: Faults }> {
  judgeTogether(values, faults);
  const { device_id: id = null, source = null } = values;
  const sender = id === null ? null : await deviceOf(database, id);
  if (id !== null && sender === null) addFault(faults, 'device_id', messages.absent);
  const host = source === null ? null : readAddress(source);
  if (source !== null && host === null) addFault(faults, 'source', messages.invalid);
  const receiver = await receiverOf(database, values, faults);
  if (Object.keys(faults).length > 0 || receiver === null) return { asked: null, faults };
  const ends = endsOf(sender, host?.text ?? null, receiver);
  if (typeof ends === 'string') {
    addFault(faults, 'destination', ends);
    return { asked: null, faults };
  }
  return { asked: { ...ends, ...packetOf(ends, values) }, faults };
}

/** What fields mean only beside each other. */
function judgeTogether(values: QuestionValues, faults: Faults): void {
  const { device_id: id = null, source = null, protocol, port = null } = values;
  if (id === null && source === null && faults['device_id'] === undefined)
    addFault(faults, 'device_id', messages.blank);
  if (id !== null && source !== null) addFault(faults, 'source', messages.notPresent);
  if (protocol === 'icmp') {
    if (port !== null) addFault(faults, 'port', messages.notPresent);
    if ((values.source_port ?? null) !== null) addFault(faults, 'source_port', messages.notPresent);
  } else if (port === null && faults['port'] === undefined && faults['protocol'] === undefined)
    addFault(faults, 'port', messages.blank);
}

/** Where a packet goes. */
interface Receiver {
  /** Null: the destination was given as an address that no device has. */
  readonly device: DeviceRow | null;
  /** Null: the destination was given as a device. */
  readonly address: string | null;
}

async function receiverOf(
  database: Database,
  { destination, device_id: sender = null, source = null }: QuestionValues,
  faults: Faults,
): Promise<Receiver | null> {
  if (typeof destination !== 'string' || faults['destination'] !== undefined) return null;
  if (isUuid(destination)) {
    const device = await deviceOf(database, destination);
    if (device === null) addFault(faults, 'destination', messages.absent);
    return device === null ? null : { device, address: null };
  }
  const address = readAddress(destination);
  if (address === null) {
    addFault(faults, 'destination', messages.invalid);
    return null;
  }
  if (sender !== null || source === null) return { device: null, address: address.text };
  const device = await deviceAt(database, address.text);
  if (device === null) addFault(faults, 'destination', NO_DEVICE);
  return device === null ? null : { device, address: address.text };
}

const NO_DEVICE = 'is the address of no device, so nothing passes to it';
const OTHER_FAMILY = 'is of another address family than the sender';

type Ends = Pick<AskedPacket, 'device' | 'isSent' | 'source' | 'destination'>;

/** The addresses of both ends, in one family; or why there are none. */
function endsOf(sender: DeviceRow | null, host: string | null, receiver: Receiver): Ends | string {
  const device = sender ?? receiver.device;
  if (device === null) return OTHER_FAMILY;
  for (const family of ['ipv4', 'ipv6'] as const) {
    const source = sender === null ? inFamily(host, family) : sender[family];
    const destination =
      inFamily(receiver.address, family) ??
      (receiver.address === null ? (receiver.device?.[family] ?? null) : null);
    if (source === null || destination === null) continue;
    return { device, isSent: sender !== null, source, destination };
  }
  return OTHER_FAMILY;
}

function inFamily(address: string | null, family: 'ipv4' | 'ipv6'): string | null {
  if (address === null) return null;
  return address.includes(':') === (family === 'ipv6') ? address : null;
}

function packetOf(
  { source, destination }: Ends,
  { protocol, port = null, source_port: sent = null, begins = true }: QuestionValues,
): Pick<AskedPacket, 'protocol' | 'port' | 'packet'> {
  const [first, last] = DYNAMIC_PORTS;
  const sourcePort = sent ?? randomInt(first, last + 1);
  const fields = { source, destination, protocol, sourcePort, destinationPort: port ?? 0, begins };
  return { protocol, port, packet: askedPacket(fields) };
}

async function deviceOf(database: Database, id: string): Promise<DeviceRow | null> {
  const [device] = await readDevices(database, { ids: [id.toLowerCase()] });
  return device ?? null;
}

async function deviceAt(database: Database, address: string): Promise<DeviceRow | null> {
  const column = address.includes(':') ? 'ipv6' : 'ipv4';
  const found = await database.models.Device.findOne({ where: { [column]: address } });
  return found === null ? null : deviceOf(database, found.id);
}
