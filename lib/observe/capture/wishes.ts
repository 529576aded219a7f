// The parameters of a capture, as they are sent to the API and typed at the command line.
// docs/api.md#capturing-packets.

import { type CaptureOrder, parseAddress } from '../../../dataplane/index.ts';
import { choice, cidr, flag, integer, mark, resource } from '../../kit/validation/fields.ts';
import { addError, type Validated, validatorOf } from '../../kit/validation/validate.ts';
import { messages, oneOf } from '../../kit/validation/messages.ts';

/** Bytes of a packet that are kept by default: its headers. */
export const SNAPLEN_DEFAULT = 128;
const SNAPLEN_MAX = 65_535;
/** An IPv4 header. */
const SNAPLEN_MIN = 20;
/** Seconds. */
export const DURATION_MAX = 3_600;
const DURATION_DEFAULT = 60;
export const BYTES_MAX = 1_073_741_824;
const BYTES_MIN = 4_096;
const PORT_MAX = 65_535;

/** The parameters. */
export const wishFields = resource({
  destination: cidr(
    'Only packets to and from this address or network, at the other end of what the device sends and receives.',
  ),
  protocol: choice('Only packets of this protocol.', 'tcp', 'udp', 'icmp'),
  port: integer('Only packets with this port, at either end.', 1, PORT_MAX),
  only: choice('`refused`: only packets that were refused.', 'refused'),
  snaplen: integer(
    `Bytes that are kept of each packet; ${SNAPLEN_DEFAULT} if left out.`,
    SNAPLEN_MIN,
    SNAPLEN_MAX,
  ),
  payload: mark(
    flag('`true`: whole packets are kept; then there is no `snaplen`.').default(false),
    { unreadable: oneOf(['true', 'false']) },
  ),
  duration: integer('Seconds after which it ends.', 1, DURATION_MAX).default(DURATION_DEFAULT),
  bytes: integer('Bytes after which it ends.', BYTES_MIN, BYTES_MAX).default(BYTES_MAX),
});

/** The parameters, after they were validated. */
export interface Wishes {
  readonly destination?: string;
  readonly protocol?: 'tcp' | 'udp' | 'icmp';
  readonly port?: number;
  readonly only?: 'refused';
  readonly snaplen?: number;
  readonly payload: boolean;
  readonly duration: number;
  readonly bytes: number;
}

const validateWishes = validatorOf<Wishes>(wishFields);
/** Validates the parameters that were sent; empty ones count as left out. */
export function validateWish(sent: object): Validated<Wishes> {
  const validated = validateWishes(sent, 'create');
  const { values, errors } = validated;
  if (values.payload && values.snaplen !== undefined)
    addError(errors, 'snaplen', messages.notPresent);
  if (values.protocol === 'icmp' && values.port !== undefined)
    addError(errors, 'port', messages.notPresent);
  return validated;
}

/** The order to the data plane. */
export function orderOf(publicKey: string, wishes: Wishes): CaptureOrder {
  const { destination, protocol = null, port = null, only, payload, snaplen } = wishes;
  return {
    publicKey,
    snaplen: payload ? SNAPLEN_MAX : (snaplen ?? SNAPLEN_DEFAULT),
    onlyRefused: only === 'refused',
    destination: destination === undefined ? null : networkOf(destination),
    protocol,
    port,
  };
}

/** A text that was validated, as bytes. */
function networkOf(text: string): CaptureOrder['destination'] {
  const [addressText = '', bits] = text.split('/');
  const address = parseAddress(addressText);
  if (address === null) throw new Error(`${text} is no address`);
  return { address, prefixBits: bits === undefined ? 8 * address.length : Number(bits) };
}
