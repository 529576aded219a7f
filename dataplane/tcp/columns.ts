// The columns of a connection. One row is a connection: WORDS whole numbers and TIMES numbers with
// a fraction, in typed arrays that all connections share. Names are those of RFC 9293 (3.3.1) and
// of the RFC that each part says.

// ---- states (RFC 9293, 3.3.2) ------------------------------------------------------------------

/** No connection. */
export const CLOSED = 0;
/** LISTEN with a SYN that the owner has not answered: nothing was sent. */
export const WAITING = 1;
export const SYN_SENT = 2;
export const SYN_RECEIVED = 3;
export const ESTABLISHED = 4;
export const FIN_WAIT_1 = 5;
export const FIN_WAIT_2 = 6;
export const CLOSE_WAIT = 7;
export const CLOSING = 8;
export const LAST_ACK = 9;
export const TIME_WAIT = 10;
/** An RST is to be sent, and nothing else happens. */
export const ABORTED = 11;

// ---- bits of FLAGS -----------------------------------------------------------------------------

/** Both sides have sent SACK-permitted (RFC 2018). */
export const SACK_OK = 1;
/** Both sides have sent timestamps (RFC 7323). */
export const TIMESTAMPS = 2;
/** Both sides have sent a window scale (RFC 7323). */
export const SCALED = 4;
export const IS_IPV6 = 8;
/** Opened by the owner, not by a SYN. */
export const IS_ACTIVE = 16;
/** The owner sends no more: a FIN follows the last byte. */
export const FIN_WANTED = 32;
/** FIN_AT is where the FIN of the other side is. */
export const FIN_KNOWN = 64;
/** The FIN of the other side is at RCV.NXT or before it, and was acknowledged. */
export const FIN_TAKEN = 128;
/** The owner has everything up to the FIN and knows it. */
export const FIN_REPORTED = 256;
/** The owner has closed both directions: bytes that still come are answered by RST. */
export const ORPHAN = 512;
/** An acknowledgement is due now. */
export const ACK_NOW = 1_024;
/** A SYN, or SYN-ACK, is due. */
export const SYN_DUE = 2_048;
/** An RST is due, after which the row is free. */
export const RST_DUE = 4_096;
/** A segment is due that makes the other side answer: a probe of a window or a keepalive. */
export const PROBE_DUE = 8_192;
/** A tail loss probe is due (RFC 8985, 7.3). */
export const TLP_DUE = 16_384;
/** In the list of connections that have something to send. */
export const READY = 32_768;
/** The congestion window, not the data, limits what is sent. */
export const LIMITED = 65_536;
/** Fast recovery (RFC 9438, 4.6) until RECOVERY_END. */
export const RECOVERY = 131_072;
/** Recovery after a retransmission timeout, until RECOVERY_END. */
export const RTO_RECOVERY = 262_144;
/** The tail loss probe in flight is a retransmission (RFC 8985, 7.3: TLP.is_retrans). */
export const TLP_RETRANS = 524_288;
/** A tail loss probe is in flight until TLP_END. */
export const TLP_IN_FLIGHT = 1_048_576;
/** RACK has seen reordering (RFC 8985, 6.2: RACK.reordering_seen). */
export const REORDERED = 2_097_152;
/** A round with a DSACK is under way until DSACK_ROUND (RFC 8985, 6.2). */
export const IN_DSACK_ROUND = 4_194_304;
/** DSACK_FROM and DSACK_TO are to be reported (RFC 2883). */
export const DSACK_DUE = 8_388_608;
/** The owner found no room to send, and is to be called when there is some. */
export const WANTS_ROOM = 16_777_216;
/** What was sent before recovery can be taken back, if the loss was none (RFC 4015). */
export const CAN_UNDO = 33_554_432;
/** Counted among the connecting ones of its device. */
export const CONNECTING = 67_108_864;
/** The owner knows that the connection has ended. */
export const END_REPORTED = 134_217_728;
/** Its bytes are with the owner right now. */
export const OFFERED = 268_435_456;
/** An RST follows the last byte, when the other side has it. */
export const RST_LAST = 536_870_912;

// ---- whole numbers -----------------------------------------------------------------------------

export const STATE = 0;
export const FLAGS = 1;
export const GENERATION = 2;
export const DEVICE = 3;
/** The own address of four words; IPv4 has it in the first. The device's address follows. */
export const LOCAL = 4;
export const REMOTE = 8;
/** The own port << 16 | the device's port. */
export const PORTS = 12;
export const BUCKET = 13;
export const BUCKET_NEXT = 14;
/** Connections of the same device; of a free row the next free one. */
export const DEVICE_NEXT = 15;
export const DEVICE_PREVIOUS = 16;
export const READY_NEXT = 17;

export const ISS = 18;
export const SND_UNA = 19;
export const SND_NXT = 20;
export const SND_WND = 21;
export const SND_WL1 = 22;
export const SND_WL2 = 23;
export const SND_SHIFT = 24;
/** The largest window that the other side has announced (RFC 5961, 5). */
export const MAX_SND_WND = 25;
/** The most bytes after the TCP header without options: the smaller one of both sides' MSS. */
export const MSS = 26;
/** After the last byte that the owner gave. */
export const SND_END = 27;
/** Bytes in flight (RFC 6675: pipe): sent, and neither lost nor acknowledged. */
export const PIPE = 28;
/** Bytes that were reported by SACK. */
export const SACKED = 29;
/** Bytes that were found lost and not sent again. */
export const LOST = 30;
export const RECOVERY_END = 31;
/** Sent records, by their sequence and by their time: the first and the last one. */
export const RECORD_FIRST = 32;
export const RECORD_LAST = 33;
export const OLDEST = 34;
export const NEWEST = 35;
/** Retransmissions in a row without progress: each doubles the timeout (RFC 6298, 5.5). */
export const RETRIES = 36;
/** Timeouts in a row during which nothing was heard at all. */
export const SILENT = 37;
/** What RETRANSMIT_AT is for. */
export const TIMER = 38;
export const RACK_END = 39;
export const RACK_FACK = 40;
export const REO_MULT = 41;
export const REO_PERSIST = 42;
export const DSACK_ROUND = 43;
export const TLP_END = 44;
/** Duplicate acknowledgements in a row, where the other side has no SACK. */
export const DUP_ACKS = 45;

export const IRS = 46;
export const RCV_NXT = 47;
/** The right edge of the window that was announced. */
export const RCV_ADV = 48;
export const RCV_SHIFT = 49;
/** The most bytes that may wait for the owner: it grows as the owner takes them. */
export const RCV_LIMIT = 50;
/** The first byte that the owner has not taken. */
export const TAKEN = 51;
/** Bytes that the owner took since RCV_LIMIT grew. */
export const TAKEN_SINCE = 52;
export const FIN_AT = 53;
/** The last acknowledgement that was sent (RFC 7323, 4.3: Last.ACK.sent). */
export const LAST_ACK_SENT = 54;
/** Segments that are acknowledged at once, as the other side is in its slow start. */
export const QUICK = 55;
/** Acknowledgements owed to a side without SACK: it counts duplicates. */
export const OWED_ACKS = 56;
export const DSACK_FROM = 57;
export const DSACK_TO = 58;
export const TS_RECENT = 59;
/** What is added to the time in ms to give a timestamp (RFC 7323, 5.4). */
export const TS_OFFSET = 60;
/** Ranges that came out of order, by sequence: the first and the last one. */
export const RANGE_FIRST = 61;
export const RANGE_LAST = 62;
/** Four ranges that were reported last, the latest first. */
export const RECENT = 63;
export const RANGE_COUNT = 67;

/** Two queues of bytes, each of STREAM_WORDS: what is sent, what came. */
export const SND_STREAM = 68;
export const RCV_STREAM = 74;
export const PROBES = 80;
/** MSS of the other side as its SYN said. */
export const PEER_MSS = 81;
/** When the first retransmission of this recovery was sent, as a timestamp (RFC 3522). */
export const RETRANSMIT_STAMP = 82;
export const RECORD_COUNT = 83;
export const READY_PREVIOUS = 84;
export const WORDS = 96;

// ---- numbers with a fraction -------------------------------------------------------------------

/** Four deadlines; NEVER where there is none. */
export const RETRANSMIT_AT = 0;
export const ACK_AT = 1;
export const PACE_AT = 2;
export const LIFE_AT = 3;
export const SRTT = 4;
export const RTTVAR = 5;
export const RTO = 6;
export const MIN_RTT = 7;
/** When the segment was sent that was delivered last (RFC 8985, 5.2: RACK.xmit_ts). */
export const RACK_TIME = 8;
export const RACK_RTT = 9;
/** Until when what was sent takes the path at the pace. */
export const PACED_UNTIL = 10;
export const HEARD_AT = 11;
export const TS_RECENT_AT = 12;
export const CHALLENGED_AT = 13;
export const SENT_AT = 14;
/** Bytes. */
export const CWND = 15;
export const SSTHRESH = 16;
/** CUBIC (RFC 9438, 4.1.2), in segments and ms. */
export const W_MAX = 17;
export const W_EST = 18;
export const K = 19;
export const EPOCH = 20;
export const CWND_PRIOR = 21;
/** CWND, SSTHRESH and W_MAX before the reduction, to take it back. */
export const UNDO_CWND = 22;
export const UNDO_SSTHRESH = 23;
export const UNDO_W_MAX = 24;
/** When the smallest RTT was measured. */
export const MIN_RTT_AT = 25;
export const TIMES = 28;

/** No deadline. */
export const NEVER = Number.POSITIVE_INFINITY;

// ---- what RETRANSMIT_AT is for -----------------------------------------------------------------

export const FOR_RTO = 0;
/** A tail loss probe (RFC 8985, 7.2). */
export const FOR_TLP = 1;
/** A segment is lost if it is not delivered by then (RFC 8985, 6.2, step 5). */
export const FOR_REORDERING = 2;
/** A probe of a closed window (RFC 9293, 3.8.6.1). */
export const FOR_WINDOW = 3;
