// Every number of the WireGuard paper (section 6.1 unless said otherwise) and every limit of the
// data plane, in one place. Times are milliseconds, sizes bytes. It imports nothing.

/**
 * Messages sent after which a keypair is renewed (6.1: 2^60). See
 * wireguard/decisions/2026-11-20-counters.md.
 */
export const REKEY_AFTER_MESSAGES = 2 ** 52;
/** Messages sent after which a keypair is no longer used (6.1: 2^64 - 2^13 - 1). */
export const REJECT_AFTER_MESSAGES = 2 ** 53 - 2 ** 13 - 1;
/** Age at which the initiator of a keypair renews it. */
export const REKEY_AFTER_TIME_MS = 120_000;
/** Age at which a keypair is no longer used. */
export const REJECT_AFTER_TIME_MS = 180_000;
/** How long an initiator repeats its initiation. */
export const REKEY_ATTEMPT_TIME_MS = 90_000;
/** Pause between two initiations to one peer. */
export const REKEY_TIMEOUT_MS = 5_000;
/** Upper end of the random delay added to a retry (6.1 asks for jitter; the kernel takes 1/3 s). */
export const REKEY_TIMEOUT_JITTER_MS = 333;
/** Time without sending after which received data is acknowledged with an empty packet. */
export const KEEPALIVE_TIMEOUT_MS = 10_000;
/** Life of a cookie secret and of a received cookie (5.4.7). */
export const COOKIE_REFRESH_TIME_MS = 120_000;
/** A received cookie is forgotten so much before its end, because its maker has another clock. */
export const COOKIE_LATENCY_MS = 5_000;
/** Shortest time between two initiations of one peer that are taken (5.1: flood protection). */
export const INITIATION_INTERVAL_MS = 20;
/** How long the gateway counts as under load after its queue was long (5.3). */
export const UNDER_LOAD_AFTER_MS = 1_000;

/** Counters that the replay window spans (RFC 6479; the kernel's size). */
export const REPLAY_WINDOW_COUNTERS = 8_192;

export const KEY_BYTES = 32;
export const TAG_BYTES = 16;
export const MAC_BYTES = 16;
export const TIMESTAMP_BYTES = 12;
/** The nonce of ChaCha20-Poly1305 (RFC 8439, 2.8). */
export const AEAD_NONCE_BYTES = 12;
export const COOKIE_NONCE_BYTES = 24;
/** Inner packets are padded with zeros to a multiple of this (5.4.6). */
export const PADDING_BYTES = 16;
/** Header (16) and tag (16) of a transport data message. */
export const TRANSPORT_OVERHEAD_BYTES = 32;

/** Peers of one gateway; bounds every table that is indexed by peer. */
export const MAX_PEERS = 65_536;
/** Keypairs alive at once: previous, current and next of every peer. */
export const MAX_KEYPAIRS = 3 * MAX_PEERS;
/** Receiver indices in use at once: those of all keypairs, and one handshake of every peer. */
export const MAX_INDICES = 4 * MAX_PEERS;
/** Packets kept for a peer without a keypair; where there are more, the oldest is dropped. */
export const MAX_STAGED_PER_PEER = 32;
/**
 * Bytes kept for all peers without a keypair; where there are more, the oldest packets are dropped.
 */
export const MAX_STAGED_BYTES = 8 * 1024 * 1024;
/** How long a packet is kept at most: no handshake takes longer. */
export const STAGED_TIME_MS = REJECT_AFTER_TIME_MS;
/** Initiations that can wait for their Diffie-Hellman computations. */
export const MAX_QUEUED_INITIATIONS = 4_096;
/** With so many waiting initiations the gateway is under load (the kernel: queue / 8). */
export const UNDER_LOAD_INITIATIONS = MAX_QUEUED_INITIATIONS / 8;
/** With so many waiting initiations of one source, this source alone is under load. */
export const MAX_WAITING_PER_SOURCE = UNDER_LOAD_INITIATIONS / 4;
/**
 * Refused initiations in a second, and at once, that a source may cause before it is under load.
 */
export const MAX_REFUSED_PER_SOURCE = 128;
/** Initiations taken between two batches, so that established traffic waits at most 2 ms. */
export const INITIATIONS_PER_TURN = 8;
/** A batch of so many datagrams is busy: datagrams that wait behind it are served first. */
export const BUSY_BATCH_DATAGRAMS = 32;
/** Initiations that are taken after a busy batch, at least; a larger batch allows more. */
export const INITIATIONS_PER_BUSY_TURN = 2;
/**
 * False responses to one initiation that are computed. After them a response must have a cookie.
 */
export const FALSE_RESPONSES_MAX = 3;
/**
 * Making so many initiations costs as much as taking one: each costs 2 Diffie-Hellman computations
 * (0.08 ms), taking one costs 3 and a key pair. What timers make in a turn counts against
 * INITIATIONS_PER_TURN at this rate.
 */
export const MADE_PER_TAKEN = 2;
/**
 * Peers whose timers are looked at between two batches; INITIATIONS_PER_TURN limits what they send.
 */
export const TIMERS_PER_TURN = 64;

/**
 * Entries of one part of a sample. One part is one turn of the worker; an entry costs up to 2.5 us
 * with its way to the main thread.
 */
export const MAX_REPORTED_PER_PART = 256;
/** Peers and rules that are looked at for one part; each without news costs less than 0.1 us. */
export const MAX_LOOKED_AT_PER_PART = 4_096;
/** Flows or refusals that one part of a list holds; each costs up to 4 us on its way. */
export const MAX_LISTED_PER_PART = 128;
/** Flows that are looked at for one part of a list; each costs up to 0.3 us. */
export const FLOWS_LOOKED_AT_PER_PART = 2_048;
/** Flows that are ranked for one part of a list of the busiest. */
export const FLOWS_RANKED_PER_PART = 4_096;
/** Flows that a worker lists of the busiest. */
export const FLOWS_RANKED = 100;
/** Flows that are judged again for one part of a trial of a change. */
export const FLOWS_TRIED_PER_PART = 2_048;
/** Refusals that are looked at for one part of a list. */
export const REFUSALS_LOOKED_AT_PER_PART = 512;
/** Peers that one command releases, at 3 us each; the worker takes one command a turn. */
export const MAX_RELEASED_PER_COMMAND = 256;

/** Initiations per second and source that are taken under load (5.3; the kernel's numbers). */
export const RATE_LIMIT_PER_SECOND = 20;
/** Initiations that one source may send at once under load. */
export const RATE_LIMIT_BURST = 5;
/**
 * Cookie replies per second: twice the handshakes that a worker can take, because a real device
 * answers a reply by a handshake. A reply costs more than everything else that is done about a
 * forged initiation.
 */
export const COOKIE_REPLIES_PER_SECOND = 8_000;
/** Cookie replies that may be sent at once: after an outage many devices ask. */
export const COOKIE_REPLIES_BURST = 1_024;
/**
 * Cookie replies per second to one source: a part of all, and enough for a site behind one address.
 */
export const COOKIE_REPLIES_PER_SECOND_AND_SOURCE = COOKIE_REPLIES_PER_SECOND / 16;
/** Cookie replies to one source that may be sent at once. */
export const COOKIE_REPLIES_BURST_PER_SOURCE = 64;
/**
 * Cookie replies per second while a few sources flood and the gateway is not under load. A flood
 * may have the address of a device as its source. With this number that device gets its cookie too,
 * at the first try, up to so many forged initiations a second. At 4 us each this is a quarter of
 * the worker. A reply is less than half as large as the message that causes it.
 */
export const COOKIE_REPLIES_PER_SECOND_OF_FLOODS = 60_000;
/**
 * Cookie replies that may be sent at once during such a flood: as many as the socket's buffer holds
 * when the worker waited for its core.
 */
export const COOKIE_REPLIES_BURST_OF_FLOODS = 25_000;
/**
 * Cookie replies within UNDER_LOAD_AFTER_MS that keep the gateway under load, though refused
 * initiations fill no queue: as many as the handshakes that a worker can take. Fewer than twelve
 * sources never get so many, however often they ask.
 */
export const COOKIE_REPLIES_OF_LOAD = (3 * COOKIE_REPLIES_PER_SECOND) / 4;
/** Sources that the rate limiter remembers. */
export const MAX_RATE_LIMITED_SOURCES = 8_192;

/** Handshakes of a peer that are remembered for people: those that were answered, or begun here. */
export const ATTEMPTS_ANSWERED = 5;
/** Handshakes of a peer that are remembered for people: those that were refused. */
export const ATTEMPTS_REFUSED = 3;
/** Keys that are remembered for people, because no peer has them. */
export const MAX_UNKNOWN_KEYS = 128;
/** Such keys that one source has at most. */
export const MAX_UNKNOWN_KEYS_PER_SOURCE = MAX_UNKNOWN_KEYS / 8;
/** Sources that are remembered for people, because they take this gateway for another one. */
export const MAX_OTHER_GATEWAY_SENDERS = 64;

/** IPv6 extension headers that are read; a packet with more is refused. */
export const MAX_EXTENSION_HEADERS = 8;

/** Flows that the filter remembers; a power of two. */
export const MAX_FLOWS = 262_144;
/**
 * Flows that the filter remembers of one peer and address family; then a new one replaces an old
 * one.
 */
export const MAX_FLOWS_PER_PEER = 4_096;
/** Kinds of refused packets that a worker remembers; a power of two. */
export const MAX_REFUSALS = 4_096;
/** One device has at most one in so many of them. */
export const REFUSALS_SHARE = 16;
/** How long an established TCP connection is remembered without a packet (RFC 5382, 5). */
export const TCP_ESTABLISHED_MS = (2 * 60 + 4) * 60_000;
/** How long a TCP connection is remembered before both sides have sent (the kernel's SYN_SENT). */
export const TCP_OPENING_MS = 120_000;
/** How long a connection is remembered after a reset, or after both sides have ended it. */
export const TCP_CLOSED_MS = 10_000;
/** How long flows of UDP, and of protocols that the filter does not know, are remembered. */
export const UDP_FLOW_MS = 180_000;
/**
 * How long it is in doubt who opened the flows of a device that another gateway heard: until the
 * device makes a handshake there again, or, if it comes back, for UDP_FLOW_MS from then on.
 */
export const ELSEWHERE_DOUBT_MS = REJECT_AFTER_TIME_MS + UDP_FLOW_MS;
/** How long an echo request waits for its reply. */
export const ICMP_FLOW_MS = 30_000;
/** Bytes of all fragments that a worker keeps until their datagrams are complete. */
export const FRAGMENT_BYTES = 4 * 1024 * 1024;
/** So many of them of one device each way: what it sends, and what is sent to it. */
export const FRAGMENT_BYTES_PER_PEER = 256 * 1024;
/** A fragment takes whole cells of so many bytes. */
export const FRAGMENT_CELL_BYTES = 512;
/** How long an IPv4 datagram waits for the rest of its fragments (the kernel's ipfrag_time). */
export const FRAGMENTS_MS_V4 = 30_000;
/**
 * An IPv4 datagram has lost the rest where so many fragments of its device came since its last one
 * (the kernel's ipfrag_max_dist, which is 64 for each source; a device may have a network behind
 * it). Identifications have 16 bits: who sends much uses one again within that time (RFC 4963).
 */
export const FRAGMENTS_APART_V4 = 256;
/** How long an IPv6 datagram waits for them (RFC 8200, 4.5). */
export const FRAGMENTS_MS_V6 = 60_000;
/** Flows that are looked at with each batch, to see whether they have ended. */
export const FLOWS_SWEPT_PER_BATCH = 64;
/** Flows that are looked at with each new flow. */
export const FLOWS_SWEPT_PER_FLOW = 4;
/** Flows that one slice of a sweep looks at; each costs up to 10 ns. */
export const FLOWS_SWEPT_PER_SLICE = 4_096;
/** Flows that one slice removes, or judges by new rules; each costs up to 1 us. */
export const FLOWS_ENDED_PER_SLICE = 512;
/** Within this time a sweep looks at all flows. */
export const SWEEP_ROUND_MS = 4_000;
/** How long a sweep pauses where one slice did not get through its flows. */
export const SWEEP_BUSY_MS = 8;
/** The number of flows that can be alive for each ended flow that is kept: 65,536 of a gateway. */
export const FLOWS_PER_ENDED_FLOW = 4;
/** One device has at most one in so many of them. */
export const ENDED_FLOWS_SHARE = 16;
/** "Too big" messages that one peer may cause at once. */
export const TOO_BIG_BURST = 10;
/** Time after which a peer may cause one more "too big" message. */
export const TOO_BIG_INTERVAL_MS = 100;

/** "Host unreachable" messages that one worker sends at once. */
export const UNREACHABLE_BURST = 10;
/** Time after which a worker may send one more "host unreachable" message. */
export const UNREACHABLE_INTERVAL_MS = 100;

/**
 * How much time's worth of a limit a peer may send or receive at once. TCP that has lost all of a
 * train says nothing for 200 ms or more; what comes meanwhile must find room, or the limit is not
 * reached.
 */
export const LIMIT_BURST_MS = 500;

/** Messages taken from the UDP sockets in one batch. */
export const DATAGRAM_SLOTS = 64;
/** Datagrams that the kernel joins into one message at most (UDP_GRO). */
export const DATAGRAMS_PER_SLOT = 64;
/** Packets taken from the TUN in one batch; each may be a super-packet of 64 KiB. */
export const PACKET_SLOTS = 64;
/**
 * Distance of two slots of an arena: 64 KiB, room for the header in front, and an odd number of
 * cache lines, so that the headers of all slots do not fall into the same cache set.
 */
export const SLOT_BYTES = 65_536 + 64 * 5;
/** Room before a packet in its slot, for the virtio_net_hdr that the TUN puts there. */
export const SLOT_HEADROOM_BYTES = 64;

/** Workers of one gateway at most: as many as the low bits of a receiver index can name. */
export const MAX_WORKERS = 8;
/**
 * Bytes of the ring from one worker to another; a power of two. It holds what two full batches can
 * bring.
 */
export const RING_BYTES = 2 * 1024 * 1024;
/** Bytes before them: how far the ring was written, and how far it was read. */
export const RING_HEADER_BYTES = 128;
/**
 * Datagrams a second that came at the wrong worker and are handed to the right one. The kernel
 * joins a rekey initiation with upload data now and then: once in two minutes for each busy device.
 */
export const STRAYS_PER_SECOND = 2_000;
/** Such datagrams that are handed over at once. */
export const STRAYS_BURST = 256;
/** Packets and datagrams taken from one ring in one turn. */
export const HANDED_PER_TURN = 256;

/** Captures of packets that run at once. */
export const MAX_CAPTURES = 2;
/**
 * TCP connections that a gateway without root relays at once. Each takes two descriptors, and where
 * a side is slow 128 KiB.
 */
export const MAX_RELAYED = 4_096;
/** So many of them from one address, so that no device takes them all. */
export const MAX_RELAYED_PER_ADDRESS = MAX_RELAYED / 8;
/**
 * Bytes of the ring in which a worker keeps the packets of one capture for the main thread: whole
 * packets of 200 Mbit/s for 0.15 s.
 */
export const CAPTURE_RING_BYTES = 4 * 1024 * 1024;
/** Bytes before them: how far the ring was written and read, and what found no room. */
export const CAPTURE_HEADER_BYTES = 128;

/**
 * Records of a worker's ring for the flow log (256 bytes each, 4 MiB): what 10,000 new flows a
 * second leave behind in 0.8 s.
 */
export const FLOW_LOG_RECORDS = 16_384;
/** Bytes before them: how far the ring was written and read, and what was lost. */
export const FLOW_LOG_HEADER_BYTES = 128;
/** Records of one device that are taken in a second. */
export const FLOW_LOG_RECORDS_PER_DEVICE = 24_576;
/** How long refused packets that are alike are collected to one record. */
export const FLOW_LOG_REFUSALS_MS = 1_000;
/** Such records that are written between two batches; each costs up to 1 us. */
export const FLOW_LOG_REFUSALS_PER_TURN = 512;

function assertRelation(holds: boolean, relation: string): void {
  if (!holds) throw new Error(`constants: ${relation} does not hold`);
}
assertRelation(REJECT_AFTER_TIME_MS > REKEY_AFTER_TIME_MS, 'reject after rekey');
assertRelation(REJECT_AFTER_MESSAGES > REKEY_AFTER_MESSAGES, 'reject after rekey, in messages');
assertRelation(REKEY_ATTEMPT_TIME_MS > REKEY_TIMEOUT_MS, 'more than one attempt');
assertRelation(FRAGMENT_BYTES_PER_PEER % FRAGMENT_CELL_BYTES === 0, 'shares are whole cells');
assertRelation(UNREACHABLE_BURST <= PACKET_SLOTS, 'answers fit into a batch');
assertRelation(REPLAY_WINDOW_COUNTERS % 32 === 0, 'the replay window is whole words');
