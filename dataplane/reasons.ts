// Why a packet or a message was refused. A reason is a small integer, so that the packet path can
// return it and count it without allocating; its name is what logs, metrics and tests show.

const names = [
  'none',
  // Datagrams, before anything is known of the sender.
  'malformed_message',
  'mac1_invalid',
  'cookie_sent',
  // The limit of cookie replies was reached; who asks again may get one.
  'cookie_withheld',
  'rate_limited',
  'initiation_queue_full',
  // It waited so long that its sender had sent another one.
  'initiation_stale',
  // Handshake messages.
  'initiation_invalid',
  'initiation_unknown_peer',
  'initiation_replayed',
  'initiation_too_frequent',
  // Not a refused message, but a stranger that is forgotten because a newer one came
  // (wireguard/unknown-senders.ts).
  'unknown_sender_forgotten',
  'response_unknown_index',
  'response_invalid',
  'cookie_unknown_index',
  'cookie_invalid',
  'index_table_full',
  // No key slot of the engine is free for another keypair.
  'keypair_table_full',
  // A device could not be added, because all places of peers are taken.
  'peer_table_full',
  // The device did not confirm our response; most often the preshared keys differ.
  'handshake_unconfirmed',
  // Transport data.
  'transport_unknown_index',
  'transport_keypair_expired',
  'transport_counter_limit',
  'transport_replayed',
  'transport_invalid',
  // Between the workers of one gateway: no room was left for what one handed to another; so much
  // came at the wrong worker that not all of it was handed over; its peer was gone when it came.
  'ring_full',
  'strayed',
  'peer_gone',
  // Inner packets from a peer.
  'inner_malformed',
  'inner_source_reserved',
  'inner_destination_reserved',
  // An address at which a cloud answers the gateway's host.
  'inner_destination_metadata',
  // An address of the gateway's host that is not in the gateway's own network namespace; without a
  // TUN, where sockets of this process would reach it, each address of the host.
  'inner_destination_host',
  'inner_own_endpoint',
  'inner_source_not_allowed',
  'inner_headers_unparsable',
  // Packets that no honest sender makes and no kernel translates.
  'inner_tcp_malformed',
  'inner_udp_malformed',
  'inner_icmp_malformed',
  // One word for errors of fragments that hide something: a first one without all headers
  // (wire/ip.ts, wire/fragment.ts), a later one that would overwrite TCP flags (wire/ip.ts), one
  // that overlaps another (filter/collector.ts).
  'inner_fragment_unsafe',
  // A fragment that nobody can put together with others.
  'inner_fragment_malformed',
  // Datagrams that are given up before all of their fragments have come: because the device has its
  // share, because the memory for all devices is full, or because it took too long.
  'inner_fragments_share',
  'inner_fragments_full',
  'inner_fragments_expired',
  // Not a refused packet, but a flow that is forgotten before its end: because its device has as
  // many flows as it can have, or because the table is full.
  'flows_share',
  'flows_full',
  'hop_limit_exceeded',
  'packet_too_big',
  // More than the limit of a device, to it or from it.
  'rate_limit',
  // Its owner has carried as much this month as they may.
  'quota_exceeded',
  'rule_drop',
  'default_drop',
  'no_peer',
  'no_tun',
  // The database could not be read for longer than the administrator allows.
  'database_away',
  // Packets on their way out.
  'packet_malformed',
  // A packet from the TUN, with a reserved source or with that of a device.
  'packet_source_forged',
  // A datagram of our own socket: the endpoint is inside a network behind a peer.
  'packet_own_datagram',
  'peer_no_endpoint',
  // Another gateway on the same database made a handshake with it, later than this one.
  'peer_elsewhere',
  'staged_overflow',
  'staged_expired',
  'keypair_exhausted',
  'oversized',
  // System calls.
  'segment_invalid',
  'datagram_truncated',
  'tun_write_failed',
  'tun_read_failed',
  'udp_send_failed',
  'udp_receive_failed',
  // Counted by the kernel (io/kernel-counts.ts): datagrams for which the socket had no room.
  'udp_socket_full',
  // Packets of devices that masquerading cannot translate. They would leave with the address of the
  // device.
  'kernel_untranslatable',
  // Connections of a device that already has its share of the kernel's table.
  'kernel_too_many_flows',
  // TCP connections that the relay of a gateway without root cannot carry.
  'relay_full',
  // Where sockets of this process take the place of the TUN (sockets/): there is no room for one
  // more of them, or the device has its share; the device has as many connections that no host has
  // answered as it may have; sockets carry TCP, UDP and echo alone.
  'egress_full',
  'connecting_full',
  'no_socket_for_protocol',
  // Datagrams of flows by such sockets: the kernel did not take one for the host; one of the host
  // found no room at its socket, as the kernel counts them.
  'egress_send_failed',
  'egress_socket_full',
  // An exception in the packet path: a bug of Postern.
  'internal_error',
] as const;

/** Name of a reason, as logs and metrics show it. */
export type ReasonName = (typeof names)[number];

/** Reasons by name; `reasons.none` (0) means: not refused. */
export const reasons = Object.freeze(
  Object.fromEntries(names.map((name, index) => [name, index])),
) as Readonly<Record<ReasonName, number>>;

/** Names by reason. */
export const reasonNames: readonly ReasonName[] = names;

/** Names of the errors of an engine, in the order of their numbers (contract.ts). */
export const errorReasons: readonly ReasonName[] = [
  'udp_receive_failed',
  'udp_send_failed',
  'tun_read_failed',
  'tun_write_failed',
];
