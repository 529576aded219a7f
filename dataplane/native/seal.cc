// The way out: a packet, or each segment of a super-packet from the TUN, gets its checksum, is
// padded, sealed into the queue and committed. Segments are sealed directly from the arena: the
// header of a segment is written over the end of the segment before, which is sealed already.

#include "checksum.h"
#include "engine.h"
#include "virtio.h"

namespace postern {

namespace {

constexpr uint8_t TCP_FIN = 0x01;
constexpr uint8_t TCP_PSH = 0x08;
constexpr uint8_t TCP_CWR = 0x80;
// The largest header that is copied before each segment: IPv4 with options (60) or IPv6, and TCP
// with options (60). csum_start includes IPv6 extension headers, so there is a limit.
constexpr size_t HEADER_BYTES_MAX = 256;
// The largest inner packet that fits into the largest UDP datagram over IPv4.
constexpr size_t INNER_BYTES_MAX = 65507 - TRANSPORT_OVERHEAD_BYTES - PADDING_BYTES;

// How far ahead packets for the same endpoint are searched: as many as the TUN gives at once.
constexpr int LOOK_AHEAD = PACKET_SLOTS;

// What seal_one needs besides the bytes.
struct Sealer {
  Engine& engine;
  KeySlot* key;
  uint32_t endpoint;
  int32_t datagrams = 0;
  size_t wire_bytes = 0;
};

size_t padded_length(size_t length, size_t mtu) {
  const size_t padded = (length + PADDING_BYTES - 1) & ~(PADDING_BYTES - 1);
  // Padding stops at the MTU: else the datagram of a full packet would be fragmented.
  return length <= mtu && padded > mtu ? mtu : padded;
}

// Seals `length` bytes at `packet`. The padding is written over the bytes after them, which are
// restored afterwards.
bool seal_one(Sealer& sealer, uint8_t* packet, size_t length) {
  Engine& engine = sealer.engine;
  KeySlot& key = *sealer.key;
  if (key.send_counter >= engine.reject_after_messages) return false;
  const size_t padded = length == 0 ? 0 : padded_length(length, engine.mtu);
  const size_t wire = padded + TRANSPORT_OVERHEAD_BYTES;
  uint8_t* out = reserve_datagram(engine, wire);
  if (out == nullptr) return false;
  uint8_t kept[PADDING_BYTES];
  const size_t pad = padded - length;
  if (pad > 0) {
    memcpy(kept, packet + length, pad);
    memset(packet + length, 0, pad);
  }
  const uint64_t counter = key.send_counter++;
  // Type 4, three zero bytes, receiver and counter, little-endian (5.4.6).
  memset(out, 0, TRANSPORT_HEADER_BYTES);
  out[0] = 4;
  for (int i = 0; i < 4; i++) out[4 + i] = static_cast<uint8_t>(key.remote_index >> (8 * i));
  for (int i = 0; i < 8; i++) out[8 + i] = static_cast<uint8_t>(counter >> (8 * i));
  const bool sealed = engine.aead.seal(key.owner, key.send, counter, packet, padded,
                                       out + TRANSPORT_HEADER_BYTES);
  if (pad > 0) memcpy(packet + length, kept, pad);
  if (!sealed) return false;
  commit_datagram(engine, sealer.endpoint, wire);
  sealer.datagrams++;
  sealer.wire_bytes += wire;
  return true;
}

// Completes a checksum that the kernel left unfinished: the field holds the sum of the pseudo
// header.
bool complete_checksum(uint8_t* packet, size_t length, const VirtioHeader& header) {
  const size_t start = header.csum_start;
  const size_t field = start + header.csum_offset;
  if (start >= length || field + 2 > length) return false;
  uint16_t sum = static_cast<uint16_t>(~fold_sum(sum_bytes(packet + start, length - start, 0)));
  // A UDP checksum of zero means that there is none.
  if (sum == 0 && header.csum_offset == 6) sum = 0xffff;
  memcpy(packet + field, &sum, 2);
  return true;
}

// Where the parts of a super-packet are.
struct Layout {
  bool is_ipv6;
  bool is_tcp;
  size_t transport;  // offset of the TCP or UDP header
  size_t header;     // bytes before the payload
  size_t segment;    // payload bytes of each segment
};

// Finds the parts of a super-packet. hdr_len of forwarded packets is not trusted: the header ends
// where TCP says it ends.
bool find_layout(const uint8_t* packet, size_t length, const VirtioHeader& header, Layout& layout) {
  const uint8_t type = header.gso_type & static_cast<uint8_t>(~VIRTIO_GSO_ECN);
  layout.is_tcp = type == VIRTIO_GSO_TCPV4 || type == VIRTIO_GSO_TCPV6;
  if (!layout.is_tcp && type != VIRTIO_GSO_UDP_L4) return false;
  layout.is_ipv6 = (packet[0] >> 4) == 6;
  layout.transport = header.csum_start;
  layout.segment = header.gso_size;
  if (layout.segment == 0 || layout.transport < (layout.is_ipv6 ? 40u : 20u)) return false;
  if (layout.transport + (layout.is_tcp ? 20 : 8) > length) return false;
  const size_t ip_bytes = static_cast<size_t>(packet[0] & 0x0f) * 4;
  if (!layout.is_ipv6 && (ip_bytes < 20 || ip_bytes > layout.transport)) return false;
  size_t transport_bytes = 8;
  if (layout.is_tcp) {
    transport_bytes = static_cast<size_t>(packet[layout.transport + 12] >> 4) * 4;
    if (transport_bytes < 20) return false;
  }
  layout.header = layout.transport + transport_bytes;
  return layout.header < length && layout.header <= HEADER_BYTES_MAX &&
         layout.header + layout.segment <= INNER_BYTES_MAX;
}

// Writes the header of a segment, whose `payload` bytes begin `at` bytes into the whole payload.
void write_segment_header(uint8_t* packet, const Layout& layout, size_t number, size_t at,
                          size_t payload, bool is_last) {
  const size_t total = layout.header + payload;
  if (layout.is_ipv6) {
    store16(packet + 4, static_cast<uint16_t>(total - 40));
  } else {
    store16(packet + 2, static_cast<uint16_t>(total));
    store16(packet + 4, static_cast<uint16_t>(load16(packet + 4) + number));
    memset(packet + 10, 0, 2);
    const size_t ip_bytes = static_cast<size_t>(packet[0] & 0x0f) * 4;
    const uint16_t sum = static_cast<uint16_t>(~fold_sum(sum_bytes(packet, ip_bytes, 0)));
    memcpy(packet + 10, &sum, 2);
  }
  uint8_t* transport = packet + layout.transport;
  const size_t upper = total - layout.transport;
  size_t field = 6;
  if (layout.is_tcp) {
    field = 16;
    store32(transport + 4, load32(transport + 4) + static_cast<uint32_t>(at));
    uint8_t flags = transport[13];
    if (number > 0) flags &= static_cast<uint8_t>(~TCP_CWR);
    if (!is_last) flags &= static_cast<uint8_t>(~(TCP_FIN | TCP_PSH));
    transport[13] = flags;
  } else {
    store16(transport + 4, static_cast<uint16_t>(upper));
  }
  memset(transport + field, 0, 2);
  uint64_t sum = sum_pseudo_header(packet, layout.is_ipv6, layout.is_tcp ? 6 : 17, upper);
  sum = sum_bytes(transport, upper, sum);
  uint16_t checksum = static_cast<uint16_t>(~fold_sum(sum));
  if (checksum == 0 && !layout.is_tcp) checksum = 0xffff;
  memcpy(transport + field, &checksum, 2);
}

int32_t seal_segments(Sealer& sealer, uint8_t* packet, size_t length, const VirtioHeader& header) {
  Layout layout;
  if (!find_layout(packet, length, header, layout)) return MARK_SEAL_INVALID;
  uint8_t original[HEADER_BYTES_MAX];
  memcpy(original, packet, layout.header);
  const size_t payload_bytes = length - layout.header;
  size_t number = 0;
  for (size_t at = 0; at < payload_bytes; at += layout.segment, number++) {
    const size_t left = payload_bytes - at;
    const size_t payload = left < layout.segment ? left : layout.segment;
    uint8_t* segment = packet + at;
    memcpy(segment, original, layout.header);
    write_segment_header(segment, layout, number, at, payload, at + payload == payload_bytes);
    if (!seal_one(sealer, segment, layout.header + payload)) return MARK_SEAL_EXHAUSTED;
  }
  return MARK_SEALED;
}

int32_t seal_packet(Sealer& sealer, const Batch& batch, size_t offset, size_t length) {
  uint8_t* packet = batch.bytes + offset;
  if (length == 0 || !batch.has_virtio_header) {
    if (length > INNER_BYTES_MAX) return MARK_SEAL_INVALID;
    return seal_one(sealer, packet, length) ? MARK_SEALED : MARK_SEAL_EXHAUSTED;
  }
  if (length < 20) return MARK_SEAL_INVALID;
  VirtioHeader header;
  memcpy(&header, packet - VIRTIO_HEADER_BYTES, VIRTIO_HEADER_BYTES);
  if (header.gso_type != VIRTIO_GSO_NONE)
    return seal_segments(sealer, packet, length, header);
  if (length > INNER_BYTES_MAX) return MARK_SEAL_INVALID;
  if ((header.flags & VIRTIO_NEEDS_CSUM) != 0 &&
      !complete_checksum(packet, length, header))
    return MARK_SEAL_INVALID;
  return seal_one(sealer, packet, length) ? MARK_SEALED : MARK_SEAL_EXHAUSTED;
}

// Seals the packet of one descriptor and writes the result into it.
void seal_described(Engine& engine, const Batch& batch, int32_t* d) {
  d[MARK] = MARK_SEAL_INVALID;
  d[DATAGRAMS] = 0;
  const int64_t before = batch.has_virtio_header ? VIRTIO_HEADER_BYTES : 0;
  // Padding is written after the packet for a moment, so there must be room for it.
  if (d[LENGTH] < 0 ||
      !batch.holds(d[OFFSET], static_cast<int64_t>(d[LENGTH]) + PADDING_BYTES, before))
    return;
  if (d[ADDRESS] < 0 || static_cast<uint32_t>(d[ADDRESS]) >= engine.endpoint_count) return;
  KeySlot* key = engine.keys.find(d[KEY], d[GENERATION]);
  if (key == nullptr) {
    d[MARK] = MARK_SEAL_EXHAUSTED;
    return;
  }
  Sealer sealer{engine, key, static_cast<uint32_t>(d[ADDRESS])};
  int32_t mark = seal_packet(sealer, batch, static_cast<size_t>(d[OFFSET]),
                                static_cast<size_t>(d[LENGTH]));
  if (mark == MARK_SEALED && key->send_counter >= engine.rekey_after_messages)
    mark = MARK_SEALED_REKEY;
  d[LENGTH] = static_cast<int32_t>(sealer.wire_bytes);
  d[DATAGRAMS] = sealer.datagrams;
  d[MARK] = mark;
}

}  // namespace

void seal_packets(Engine& engine, Batch& batch, int count) {
  for (int i = 0; i < count; i++) {
    const int32_t* first = batch.descriptor(i);
    if (first[MARK] != MARK_SEAL) continue;
    // Packets of several peers may alternate. Those of one peer are sealed together, so that they
    // leave as one train.
    const int32_t endpoint = first[ADDRESS];
    const int end = count - i < LOOK_AHEAD ? count : i + LOOK_AHEAD;
    for (int j = i; j < end; j++) {
      int32_t* d = batch.descriptor(j);
      if (d[MARK] == MARK_SEAL && d[ADDRESS] == endpoint) seal_described(engine, batch, d);
    }
  }
}

}  // namespace postern
