// The question of an explanation: which packet is meant, as it is sent to the API and typed at the
// command line. docs/api.md#what-becomes-of-a-packet.

import { randomInt } from 'node:crypto';
import { askedPacket } from '../../../dataplane/index.ts';
import { type Database, type Device, readRoutedDevices } from '../../../models/index.ts';
import { deviceBefore } from '../../domain/devices/routes.ts';
import {
  flag,
  integer,
  isUuid,
  reference,
  resource,
  trimmed,
} from '../../kit/validation/fields.ts';
import {
  addError,
  type Errors,
  type Validated,
  validatorOf,
} from '../../kit/validation/validate.ts';
import { type FieldError, messages } from '../../kit/validation/messages.ts';
import { type Address, readAddress } from '../../kit/validation/network.ts';
import {
  type AskedProtocol,
  askedProtocol,
  numberedProtocol,
  PORT_MAX,
  PORT_MIN,
} from './protocol.ts';

/** Bytes of a packet: an IPv4 header alone, and the most that it can say. */
const [SIZE_MIN, SIZE_MAX] = [20, 65_535] as const;
/** The ports that systems give to new connections (RFC 6335, section 6). */
const DYNAMIC_PORTS = [49_152, PORT_MAX] as const;

/** What is sent. */
export const questionFields = resource({
  device_id: reference('The device that sends the packet; this or `source` is required.').allow(
    null,
  ),
  source: trimmed(
    'The address that the packet comes from. With `device_id`: that of a host behind the device; left out: its own. Without: that of a host behind the gateway; then `destination` is a device.',
  )
    .atMost(64)
    .allow(null),
  destination: trimmed('Where the packet goes: an address, or the id of a device.')
    .atMost(64)
    .required(),
  protocol: askedProtocol(
    'The protocol: `tcp`, `udp`, `icmp` (an echo request; in place of 1 and 58), or the number of another one.',
  ).required(),
  port: integer(
    'The port of the destination; required for `tcp` and `udp`.',
    PORT_MIN,
    PORT_MAX,
  ).allow(null),
  source_port: integer(
    'The port of the sender; left out: a new flow, from a port drawn at random.',
    PORT_MIN,
    PORT_MAX,
  ).allow(null),
  begins: flag(
    'Whether the packet begins a TCP connection; false: it comes in the middle of one.',
  ).default(true),
  size: integer(
    'Bytes of the packet, headers included, which may not be fragmented; left out: a small one.',
    SIZE_MIN,
    SIZE_MAX,
  ).allow(null),
});

/** What was sent, once it is validated. */
export interface QuestionValues {
  readonly device_id?: string | null;
  readonly source?: string | null;
  readonly destination: string;
  readonly protocol: AskedProtocol;
  readonly port?: number | null;
  readonly source_port?: number | null;
  readonly begins?: boolean;
  readonly size?: number | null;
}

/** Validates what was sent. */
export const validateQuestion = validatorOf<QuestionValues>(questionFields);

/** A packet that somebody asks about, and the devices at its ends. */
export interface AskedPacket {
  /** The device that the question is about: the sender, or the receiver of what a host sends. */
  readonly device: Device;
  /** Whether the device sends it. */
  readonly isSent: boolean;
  readonly source: string;
  readonly destination: string;
  readonly protocol: QuestionValues['protocol'];
  readonly port: number | null;
  /** Whether the packet begins a TCP connection. */
  readonly begins: boolean;
  /** From its IP header on. */
  readonly packet: Uint8Array;
}

/** Finds what a question means; where it means nothing, there are errors and no packet. */
export async function readQuestion(
  database: Database,
  { values, errors }: Validated<QuestionValues>,
): Promise<{ asked: AskedPacket | null; errors: Errors }> {
  validateTogether(values, errors);
  const sender = await senderOf(database, values, errors);
  const receiver = await receiverOf(database, values, errors);
  const ends = sender === null || receiver === null ? null : endsOf(sender, receiver);
  if (sender !== null && receiver !== null && ends === null)
    addError(errors, 'destination', messages.otherFamilyThanSender);
  if (ends === null || Object.keys(errors).length > 0) return { asked: null, errors };
  const asked = { ...ends, ...packetOf(ends, values) };
  const { length } = asked.packet;
  if (length <= (values.size ?? length)) return { asked, errors };
  addError(errors, 'size', { code: 'sizeTooSmall', values: { least: length } });
  return { asked: null, errors };
}

/** What fields mean only beside each other. */
function validateTogether(values: QuestionValues, errors: Errors): void {
  const { device_id: id = null, source = null, protocol, port = null } = values;
  if (id === null && source === null && errors['device_id'] === undefined)
    addError(errors, 'device_id', messages.blank);
  if (errors['protocol'] !== undefined) return;
  if (protocol !== 'tcp' && protocol !== 'udp') {
    if (port !== null) addError(errors, 'port', messages.notPresent);
    if ((values.source_port ?? null) !== null) addError(errors, 'source_port', messages.notPresent);
  } else if (port === null && errors['port'] === undefined)
    addError(errors, 'port', messages.blank);
}

/** One end of a packet. */
interface End {
  /** Null: a host, or an address that nobody has. */
  readonly device: Device | null;
  readonly ipv4: string | null;
  readonly ipv6: string | null;
}

async function senderOf(
  database: Database,
  { device_id: id = null, source = null }: QuestionValues,
  errors: Errors,
): Promise<End | null> {
  const address = source === null ? null : readAddress(source);
  if (source !== null && address === null) addError(errors, 'source', messages.invalid);
  const end = address === null ? null : addressEnd(address);
  if (id === null) return end;
  const sender = await deviceEnd(database, { id }, errors, 'device_id', messages.absent);
  // Whether the device may send from there is for the packet path to say.
  return sender === null || end === null ? sender : { ...end, device: sender.device };
}

async function receiverOf(
  database: Database,
  { destination, device_id: sender = null, source = null }: QuestionValues,
  errors: Errors,
): Promise<End | null> {
  if (typeof destination !== 'string' || errors['destination'] !== undefined) return null;
  if (isUuid(destination)) {
    const id = destination.toLowerCase();
    return deviceEnd(database, { id }, errors, 'destination', messages.absent);
  }
  const address = readAddress(destination);
  if (address === null) addError(errors, 'destination', messages.invalid);
  if (address === null) return null;
  const end = addressEnd(address);
  if (sender !== null || source === null) return end;
  const behind = deviceBefore(await readRoutedDevices(database), address.text);
  const own = end.ipv4 === null ? { ipv6: end.ipv6 } : { ipv4: end.ipv4 };
  const where = behind === undefined ? own : { id: behind.id };
  const found = await deviceEnd(database, where, errors, 'destination', messages.addressOfNoDevice);
  return found === null ? null : { ...end, device: found.device };
}

async function deviceEnd(
  database: Database,
  where: Partial<Pick<Device, 'id' | 'ipv4' | 'ipv6'>>,
  errors: Errors,
  field: string,
  error: FieldError,
): Promise<End | null> {
  const device = await database.models.Device.findOne({ where });
  if (device === null) addError(errors, field, error);
  return device === null ? null : { device, ipv4: device.ipv4, ipv6: device.ipv6 };
}

function addressEnd({ family, text }: Address): End {
  return { device: null, ipv4: family === 4 ? text : null, ipv6: family === 6 ? text : null };
}

type Ends = Pick<AskedPacket, 'device' | 'isSent' | 'source' | 'destination'>;

/** The addresses of both ends, in one family; null where they have none in common. */
function endsOf(sender: End, receiver: End): Ends | null {
  const device = sender.device ?? receiver.device;
  if (device === null) return null;
  const isSent = sender.device !== null;
  for (const family of ['ipv4', 'ipv6'] as const) {
    const [source, destination] = [sender[family], receiver[family]];
    if (source !== null && destination !== null) return { device, isSent, source, destination };
  }
  return null;
}

function packetOf(
  { source, destination }: Ends,
  { protocol, port = null, source_port: sent = null, begins = true, size = null }: QuestionValues,
): Pick<AskedPacket, 'protocol' | 'port' | 'begins' | 'packet'> {
  const [first, last] = DYNAMIC_PORTS;
  const sourcePort = sent ?? randomInt(first, last + 1);
  const fields = { source, destination, sourcePort, destinationPort: port ?? 0, begins };
  const numbered = numberedProtocol(protocol);
  const packet = askedPacket({
    ...fields,
    protocol: numbered,
    ...(size === null ? {} : { size }),
  });
  return { protocol, port, begins: numbered === 'tcp' && begins, packet };
}
