// The gates that a packet goes through, in their order, and which gate each reason belongs to. The
// first gates are about the device and its owner, and the main thread knows them; the others are
// those of the packet path. Packets that never come to it have a reason of the main thread, too
// (`no_way_in`), and so have those that pasta does not carry (`no_way_out`).
// docs/api.md#what-becomes-of-a-packet lists the gates.

import type { ReasonName } from '../../../dataplane/index.ts';
import type { Leaving } from './elsewhere.ts';
import { refusalReasons } from '../../domain/policy/reason-words.ts';

/** Names of the gates in the order of a packet, each with what it says of one that passes. */
export const gates = {
  device_on: 'The device is switched on.',
  device_current: 'The device has not ended.',
  owner_enabled: 'The owner of the device is enabled.',
  vpn_session: 'The VPN session of the owner has not ended.',
  served: 'This gateway serves the device.',
  database: 'The gateway knows the rules of now.',
  source: 'The packet has an address from which it may come.',
  destination: 'Packets to this address may go through the tunnel.',
  form: 'The packet is sound.',
  rules: 'Nothing forbids it.',
  way: 'There is a way to the destination.',
  size: 'The packet is not too big.',
  limit: 'No limit of a device is reached.',
  receiver: 'The device that it is for can be reached.',
} as const;

/** What the gate `way` says of a packet that leaves the gateway without a TUN of the host. */
export const byWay: Readonly<Partial<Record<Leaving, string>>> = {
  sockets: 'There is a way to the destination, by a socket of the gateway.',
  pasta: 'There is a way to the destination, by a socket of pasta.',
};

/** The name of a gate. */
export type GateName = keyof typeof gates;

export const gateNames = Object.keys(gates) as readonly GateName[];

/** Why gates refuse: reasons that the packet path does not give. */
export const ownReasons = {
  device_off: 'The device is switched off.',
  device_ended: 'The device has ended: it was to be used until a time that has passed.',
  owner_disabled: 'The owner of the device is disabled.',
  session_ended: 'The VPN session of the owner has ended: the owner must sign in again.',
  not_served:
    'This gateway does not serve the device at the moment: its row cannot be obeyed, or the data plane has not got it yet.',
  elsewhere: 'The device is connected to another gateway, so its packets do not come here.',
  no_way_in:
    'Without a TUN, and without root, nothing beyond the gateway opens a connection to a device: only answers come.',
  no_way_out:
    'Without root, pasta carries what leaves the gateway, and it carries TCP, UDP and echo requests alone.',
} as const;

/** In place of what is said of `device_off`, where its owner switched it off. */
export const offByOwner = {
  text: 'The owner of the device switched it off.',
  advice: 'Ask the owner before you switch the device on: it may be lost.',
} as const;

/** The devices for which a packet may have to wait: at which gate, in words, and what to do. */
export const waits = {
  sender: {
    gate: 'served',
    text: 'The device that sends it has no session with this gateway: it must connect first.',
    advice: 'Let the sender connect; if it cannot, its page and “postern diagnose” say why.',
  },
  receiver: {
    gate: 'receiver',
    text: 'The device that it is for has no session with this gateway: the packet waits for a handshake, and is dropped if none comes within 180 s.',
    advice:
      'If the device does not connect, its page and “postern diagnose” say why. Or it is offline.',
  },
} as const satisfies Readonly<Record<string, { gate: GateName; text: string; advice: string }>>;

/** Why a gate refuses. */
export type ExplainedReason = keyof typeof ownReasons | Exclude<ReasonName, 'none'>;

/** All of them. */
export const explainedReasons: readonly ExplainedReason[] = [
  ...(Object.keys(ownReasons) as (keyof typeof ownReasons)[]),
  ...(refusalReasons as readonly Exclude<ReasonName, 'none'>[]),
];

/** Reasons whose usual sentence says what a gateway has done; asking does nothing. */
export const asked: Readonly<Partial<Record<ExplainedReason, string>>> = {
  packet_too_big:
    'The packet is too big for the tunnel of the device; its sender would get the right size.',
};

const OF_OWN_REASONS: Readonly<Record<keyof typeof ownReasons, GateName>> = {
  device_off: 'device_on',
  device_ended: 'device_current',
  owner_disabled: 'owner_enabled',
  session_ended: 'vpn_session',
  not_served: 'served',
  elsewhere: 'served',
  no_way_in: 'way',
  no_way_out: 'way',
};

/** The gates of the packet path, by the reasons with which they refuse. */
const OF_REASONS: Readonly<Partial<Record<ReasonName, GateName>>> = {
  database_away: 'database',
  inner_source_reserved: 'source',
  inner_source_not_allowed: 'source',
  packet_source_forged: 'source',
  packet_own_datagram: 'source',
  inner_destination_reserved: 'destination',
  inner_destination_metadata: 'destination',
  inner_destination_host: 'destination',
  inner_own_endpoint: 'destination',
  rule_drop: 'rules',
  default_drop: 'rules',
  no_peer: 'way',
  no_tun: 'way',
  no_socket_for_protocol: 'way',
  hop_limit_exceeded: 'way',
  peer_gone: 'way',
  packet_too_big: 'size',
  rate_limit: 'limit',
  quota_exceeded: 'limit',
  peer_no_endpoint: 'receiver',
  peer_elsewhere: 'receiver',
};

/** The gate that refuses with a reason; what is no sound packet is refused for its form. */
export function gateOf(reason: ExplainedReason): GateName {
  return isOwn(reason) ? OF_OWN_REASONS[reason] : (OF_REASONS[reason] ?? 'form');
}

/** Whether the packet path does not give a reason. */
export function isOwn(reason: ExplainedReason): reason is keyof typeof ownReasons {
  return Object.hasOwn(ownReasons, reason);
}
