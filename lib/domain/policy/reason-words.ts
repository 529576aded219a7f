// A sentence for each reason of refusals, for people who look at the dashboard. The names are those
// of metrics and logs; the type demands a sentence for each of them.

import { type ReasonName, reasonNames } from '../../../dataplane/index.ts';

/** Why packets and messages may be refused. */
export const refusalReasons: readonly ReasonName[] = reasonNames.filter((name) => name !== 'none');

/** Why packets and messages were refused, by the name of the reason. */
const sentences: Readonly<Record<Exclude<ReasonName, 'none'>, string>> = {
  malformed_message: 'It was no WireGuard message: it had an unknown type or a wrong size.',
  mac1_invalid:
    'The sender does not know the gateway’s public key: it is a scanner, or a device with an old file.',
  cookie_sent: 'Many handshakes arrived, so the sender was asked to prove its address first.',
  cookie_withheld: 'So many handshakes arrived that not every sender could be asked for a proof.',
  rate_limited: 'One address sent more handshakes than the gateway computes for one address.',
  initiation_queue_full: 'More handshakes waited than the gateway has room for.',
  initiation_stale: 'A newer handshake of the same sender arrived while this one waited.',
  initiation_invalid: 'A handshake could not be decrypted: it is broken or forged.',
  initiation_unknown_peer:
    'A handshake came from a key that no served device has: the device was deleted, switched off, or has another key.',
  initiation_replayed:
    'A handshake had been seen before: it is a copy, or the clock of the device was set back.',
  initiation_too_frequent: 'A device began handshakes faster than WireGuard allows.',
  unknown_sender_forgotten:
    'More strangers sent handshakes than the gateway remembers, so it forgot one; nothing was dropped.',
  response_unknown_index:
    'An answer to a handshake came too late, or the gateway had begun no such handshake.',
  response_invalid: 'An answer to a handshake could not be decrypted: it is broken or forged.',
  cookie_unknown_index: 'A cookie came for a handshake that the gateway did not begin.',
  cookie_invalid: 'A cookie could not be decrypted: it is broken or forged.',
  index_table_full: 'The gateway has no room for another session of a device.',
  keypair_table_full: 'The gateway has no room for another session key of a device.',
  peer_table_full: 'The gateway serves as many devices as it can and has no room for this one.',
  handshake_unconfirmed:
    'A device never used the session that was agreed: most often its preshared key is wrong.',
  ring_full:
    'One part of the gateway had more packets for another part than that part could take at the moment.',
  strayed:
    'So many packets came to the wrong part of the gateway that it did not pass all of them on.',
  peer_gone:
    'A device was removed or changed while one part of the gateway passed its packet to another part.',
  transport_unknown_index: 'A packet belonged to a session that has ended.',
  transport_keypair_expired: 'A packet used a session key that was too old.',
  transport_counter_limit: 'A packet used a session key too often.',
  transport_replayed: 'A packet had arrived before, or came much too late.',
  transport_invalid: 'A packet could not be decrypted: it is broken or forged.',
  inner_malformed: 'What a device sent was no IP packet.',
  inner_source_reserved: 'A device sent from an address that nobody may send from.',
  inner_destination_reserved:
    'A device sent to an address that is never reached through the tunnel, such as loopback, link-local or a broadcast.',
  inner_destination_metadata:
    'A device asked for the cloud’s data about the gateway’s host, which may hold credentials.',
  inner_destination_host:
    'A device sent to another address of the gateway’s host, or to a server that a gateway without a TUN itself needs.',
  inner_own_endpoint: 'A device sent the tunnel’s own packets into the tunnel.',
  inner_source_not_allowed: 'A device sent from an address that is not its own.',
  inner_headers_unparsable: 'The headers of a device’s packet could not be read.',
  inner_tcp_malformed: 'A device sent a TCP packet that no honest program makes.',
  inner_udp_malformed: 'A device sent a UDP packet whose length is wrong.',
  inner_icmp_malformed: 'A device sent an ICMP message that is too short or quotes nothing.',
  inner_fragment_unsafe:
    'A device sent a part of a packet that hides what the rules must see, or that overlaps another part.',
  inner_fragment_malformed: 'A part of a packet cannot be put together with other parts.',
  inner_fragments_share:
    'A device had more packets in parts under way than it may have. The oldest that was not complete was given up.',
  inner_fragments_full:
    'More packets in parts were under way than the gateway can hold. One of the device that had most was given up.',
  inner_fragments_expired:
    'A packet in parts was given up: not all of its parts came in time (30 s, over IPv6 60 s).',
  flows_share:
    'A device had as many connections as one device may, so the gateway forgot an old one; nothing was dropped.',
  flows_full:
    'All devices together had as many connections as the gateway remembers, so it forgot an old one; nothing was dropped.',
  hop_limit_exceeded: 'A packet had passed as many routers as it may.',
  packet_too_big:
    'A packet was larger than its way allows; the gateway sent the right size to its sender.',
  rate_limit: 'A device got or sent more than its limit allows.',
  quota_exceeded: 'The owner of a device has carried as much this month as the quota allows.',
  rule_drop: 'A rule drops it.',
  default_drop: 'No rule matches it, and the default action is to drop.',
  no_peer: 'No served device has the address that it was sent to.',
  no_tun: 'The gateway has no TUN interface to pass it on.',
  database_away:
    'The database has been out of reach for longer than DATABASE_AWAY_LIMIT, so nothing passes.',
  packet_malformed: 'What the host wanted to send to a device was no IP packet.',
  packet_source_forged:
    'Somebody on the network sent from the address of a device, or from one that nobody may use.',
  packet_own_datagram:
    'A message of the gateway itself was for a network behind a device, because the endpoint of a device is in that network.',
  peer_no_endpoint:
    'A packet was for a device that has not connected yet, so its address is not known.',
  peer_elsewhere: 'A packet was for a device that is connected to another gateway by now.',
  staged_overflow: 'Too many packets waited for a device to finish its handshake.',
  staged_expired: 'A packet waited too long for a device to finish its handshake.',
  keypair_exhausted: 'A packet was for a device whose session key was used up.',
  oversized: 'A packet for a device was larger than any that can be sent.',
  segment_invalid:
    'The system gave the gateway several packets in one, which could not be separated.',
  datagram_truncated: 'A message was larger than any of WireGuard.',
  tun_write_failed: 'The system did not take a packet from a device.',
  tun_read_failed: 'A packet for a device could not be read from the system.',
  udp_send_failed:
    'The system could not send a message: most often there is no route to the device.',
  udp_receive_failed: 'A message could not be read from the system.',
  udp_socket_full:
    'Messages arrived faster than the gateway reads them, and the system dropped some.',
  kernel_untranslatable:
    'The system could not give the packet the gateway’s address (NAT): it belongs to no connection.',
  kernel_too_many_flows: 'A device had as many connections open as one device may.',
  relay_full:
    'A device, or all devices together, had as many TCP connections as a gateway without root carries for them.',
  egress_full:
    'A device, or all devices together, had as many connections and flows as a gateway without a TUN carries for them.',
  connecting_full:
    'A device waited for as many servers that do not answer as one device may wait for.',
  no_socket_for_protocol:
    'A device sent something else than TCP, UDP or an echo request, and a gateway without a TUN carries nothing else.',
  egress_send_failed: 'The system did not take a UDP packet or a ping of a device for its server.',
  egress_socket_full:
    'Answers to devices arrived faster than a gateway without a TUN reads them, and the system dropped some.',
  internal_error: 'The gateway made a mistake; the log has it. Please report it.',
};

const FAMILIES_OF_DEVICES = /^(inner|flows|kernel|relay|egress|connecting)_/;
const OF_DEVICES: ReadonlySet<string> = new Set<ReasonName>([
  'rule_drop',
  'default_drop',
  'hop_limit_exceeded',
  'packet_too_big',
  'rate_limit',
  'quota_exceeded',
  'no_tun',
  'no_socket_for_protocol',
  'database_away',
]);

/** Why packets for a device are refused on their way to it. */
const ON_THE_WAY: ReadonlySet<string> = new Set<ReasonName>([
  'no_peer',
  'peer_gone',
  'peer_no_endpoint',
  'peer_elsewhere',
  'packet_own_datagram',
  'packet_source_forged',
  'staged_overflow',
  'staged_expired',
  'keypair_exhausted',
  'oversized',
]);

/** The sentence of a reason; an unknown name is returned in words. */
export function reasonInWords(name: string): string {
  return isKnown(name) ? sentences[name] : `${name.replaceAll('_', ' ')}.`;
}

/**
 * Whether a reason is about packets of devices. All others are about strangers, who need no device
 * to cause them, or about this host.
 */
export function isOfDevices(name: string): boolean {
  return FAMILIES_OF_DEVICES.test(name) || OF_DEVICES.has(name);
}

/** Whether a reason is about packets inside the tunnel, from devices or for devices. */
export function isOfPackets(name: string): boolean {
  return isOfDevices(name) || ON_THE_WAY.has(name);
}

function isKnown(name: string): name is keyof typeof sentences {
  return name !== 'none' && (reasonNames as readonly string[]).includes(name);
}
