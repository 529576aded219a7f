// Writes to the TUN. Consecutive TCP segments, and UDP datagrams of equal size, of one flow leave
// as one super-packet: the headers of the first one, and the payloads gathered from the arena by
// writev. Packets are joined only after their checksums were verified, and only when they differ in
// nothing but what the kernel writes anew when it cuts the super-packet. The order within a flow is
// kept.

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "checksum.h"
#include "engine.h"
#include "virtio.h"

namespace postern {

namespace {

constexpr size_t PACKET_BYTES_MAX = 65535;
// The length in an IPv6 header counts the payload alone (RFC 8200, section 3).
constexpr int32_t IPV6_BYTES_MAX = 40 + 65535;
constexpr int ITEM_PARTS_MAX = 64;
constexpr int BATCH_MAX = DATAGRAM_SLOTS * DATAGRAMS_PER_SLOT;
constexpr int FLOW_BUCKETS = 512;
constexpr uint8_t PROTOCOL_ICMP = 1;
constexpr uint8_t PROTOCOL_ICMPV6 = 58;
constexpr uint8_t TCP_ACK = 0x10;
constexpr uint8_t TCP_PSH = 0x08;

// One packet, with what joining needs to know of it.
struct Candidate {
  uint8_t* packet;
  size_t length;
  bool is_ipv6;
  bool is_tcp;
  bool verified;  // the upper checksum is right
  bool ordered;   // may belong to a flow whose later packets could join an earlier one
  bool joinable;
  size_t transport;
  size_t header;
  size_t payload;
  uint32_t sequence;
  uint8_t flags;
};

// One write: the first packet and the payloads of those that follow it.
struct Item {
  Candidate first;
  int first_part;  // chain of descriptors through `next_part`
  int last_part;
  int parts;
  size_t length;
  uint32_t next_sequence;
  bool closed;
};

struct Workspace {
  Item items[BATCH_MAX];
  int next_part[BATCH_MAX];
  const uint8_t* part_payload[BATCH_MAX];
  size_t part_length[BATCH_MAX];
  int item_count;
  int buckets[FLOW_BUCKETS];
};

void examine_tcp(Candidate& c) {
  const uint8_t* tcp = c.packet + c.transport;
  const size_t tcp_bytes = static_cast<size_t>(tcp[12] >> 4) * 4;
  if (tcp_bytes < 20 || c.transport + tcp_bytes > c.length) return;
  if (!is_upper_right(c.packet, c.length, c.transport, 6)) return;
  c.verified = true;
  c.is_tcp = true;
  c.header = c.transport + tcp_bytes;
  c.payload = c.length - c.header;
  c.sequence = load32(tcp + 4);
  c.flags = tcp[13];
  c.joinable = c.payload > 0 && (c.flags & ~TCP_PSH) == TCP_ACK;
}

void examine_udp(Candidate& c, bool tun_takes_udp) {
  const uint8_t* udp = c.packet + c.transport;
  if (load16(udp + 4) != c.length - c.transport) return;
  // UDP may have no checksum (over IPv6: RFC 6936); such a packet is passed on unchanged and never
  // joined.
  if (load16(udp + 6) == 0 || !is_upper_right(c.packet, c.length, c.transport, 17)) return;
  c.verified = true;
  c.header = c.transport + 8;
  c.payload = c.length - c.header;
  c.joinable = tun_takes_udp && c.payload > 0;
}

// Decides whether a packet can be joined with others. Packets with options, extension headers and
// fragments cannot.
Candidate examine(uint8_t* packet, size_t length, bool tun_takes_udp) {
  Candidate c = {};
  c.packet = packet;
  c.length = length;
  const uint8_t next = (packet[0] >> 4) == 6 && length >= 40 ? packet[6] : packet[9];
  c.ordered = next != PROTOCOL_ICMP && next != PROTOCOL_ICMPV6;
  const size_t transport = plain_transport(packet, length);
  if (transport == 0) return c;
  c.is_ipv6 = transport == 40;
  if (!c.is_ipv6 && fold_sum(sum_bytes(packet, transport, 0)) != 0xffff) return c;
  c.transport = transport;
  const uint8_t protocol = packet[c.is_ipv6 ? 6 : 9];
  if (protocol == 6 && length >= c.transport + 20) examine_tcp(c);
  else if (protocol == 17) examine_udp(c, tun_takes_udp);
  return c;
}

uint32_t hash_flow(const Candidate& c) {
  uint64_t h = c.is_ipv6 ? 0x9e3779b97f4a7c15u : 0xc2b2ae3d27d4eb4fu;
  const uint8_t* from = c.packet + (c.is_ipv6 ? 8 : 12);
  for (size_t i = 0; i < (c.is_ipv6 ? 32u : 8u); i += 4) {
    uint32_t word;
    memcpy(&word, from + i, 4);
    h = (h ^ word) * 0x9fb21c651e98df25u;
    h ^= h >> 29;
  }
  uint32_t ports;
  memcpy(&ports, c.packet + c.transport, 4);
  h = (h ^ ports) * 0x9fb21c651e98df25u;
  return static_cast<uint32_t>(h >> 32);
}

bool same_flow(const Candidate& a, const Candidate& b) {
  if (a.is_ipv6 != b.is_ipv6 || a.is_tcp != b.is_tcp) return false;
  const size_t addresses = a.is_ipv6 ? 8 : 12;
  return memcmp(a.packet + addresses, b.packet + addresses, a.is_ipv6 ? 32 : 8) == 0 &&
         memcmp(a.packet + a.transport, b.packet + b.transport, 4) == 0;
}

// Whether the headers are equal in everything that the kernel does not write anew.
bool same_headers(const Candidate& a, const Candidate& b) {
  if (a.is_ipv6) {
    // Version, class and flow label; hop limit.
    if (memcmp(a.packet, b.packet, 4) != 0 || a.packet[7] != b.packet[7]) return false;
  } else {
    // Class; don't fragment; hop limit.
    if (a.packet[1] != b.packet[1] || a.packet[8] != b.packet[8]) return false;
    if ((a.packet[6] & 0xc0) != (b.packet[6] & 0xc0)) return false;
  }
  if (!a.is_tcp) return true;
  if (a.header != b.header) return false;
  const uint8_t* left = a.packet + a.transport;
  const uint8_t* right = b.packet + b.transport;
  // Acknowledgement, data offset, window; options.
  return memcmp(left + 8, right + 8, 5) == 0 && memcmp(left + 14, right + 14, 2) == 0 &&
         memcmp(left + 20, right + 20, a.header - a.transport - 20) == 0;
}

bool joins(const Item& item, const Candidate& c) {
  return !item.closed && item.parts < ITEM_PARTS_MAX && c.payload <= item.first.payload &&
         item.length + c.payload <= PACKET_BYTES_MAX &&
         (!c.is_tcp || c.sequence == item.next_sequence) && same_headers(item.first, c);
}

void append(Workspace& w, Item& item, const Candidate& c, int part) {
  w.part_payload[part] = c.packet + c.header;
  w.part_length[part] = c.payload;
  w.next_part[part] = -1;
  w.next_part[item.last_part] = part;
  item.last_part = part;
  item.parts++;
  item.length += c.payload;
  item.next_sequence += static_cast<uint32_t>(c.payload);
  if (c.is_tcp && (c.flags & TCP_PSH) != 0) {
    item.first.flags |= TCP_PSH;
    item.closed = true;
  }
  // A short segment can only be the last one.
  if (c.payload < item.first.payload) item.closed = true;
}

void begin(Workspace& w, const Candidate& c, int part) {
  Item& item = w.items[w.item_count++];
  item.first = c;
  item.first_part = part;
  item.last_part = part;
  item.parts = 1;
  item.length = c.length;
  item.next_sequence = c.sequence + static_cast<uint32_t>(c.payload);
  item.closed = !c.joinable || (c.is_tcp && (c.flags & TCP_PSH) != 0);
  w.next_part[part] = -1;
}

// Finds or takes the bucket of a flow. Only the latest item of a flow can grow.
int& bucket_of(Workspace& w, const Candidate& c) {
  uint32_t at = hash_flow(c) % FLOW_BUCKETS;
  for (int probes = 0; probes < 8; probes++) {
    int& bucket = w.buckets[at];
    if (bucket == -1 || same_flow(w.items[bucket].first, c)) return bucket;
    at = (at + 1) % FLOW_BUCKETS;
  }
  // With too many flows this one takes the bucket of another, whose item then stops growing.
  return w.buckets[at];
}

// Rewrites the headers of the first packet for the whole, and describes the whole to the kernel.
void make_super_packet(Item& item, VirtioHeader& header) {
  const Candidate& c = item.first;
  uint8_t* transport = c.packet + c.transport;
  const size_t upper = item.length - c.transport;
  if (c.is_ipv6) {
    store16(c.packet + 4, static_cast<uint16_t>(item.length - 40));
  } else {
    store16(c.packet + 2, static_cast<uint16_t>(item.length));
    memset(c.packet + 10, 0, 2);
    const uint16_t sum = static_cast<uint16_t>(~fold_sum(sum_bytes(c.packet, 20, 0)));
    memcpy(c.packet + 10, &sum, 2);
  }
  if (c.is_tcp) transport[13] = c.flags;
  else store16(transport + 4, static_cast<uint16_t>(upper));
  const uint16_t partial =
      fold_sum(sum_pseudo_header(c.packet, c.is_ipv6, c.is_tcp ? 6 : 17, upper));
  const size_t field = c.is_tcp ? 16 : 6;
  memcpy(transport + field, &partial, 2);
  header.flags = VIRTIO_NEEDS_CSUM;
  header.gso_type = static_cast<uint8_t>(
      !c.is_tcp ? VIRTIO_GSO_UDP_L4
                : c.is_ipv6 ? VIRTIO_GSO_TCPV6 : VIRTIO_GSO_TCPV4);
  header.hdr_len = static_cast<uint16_t>(c.header);
  header.gso_size = static_cast<uint16_t>(c.payload);
  header.csum_start = static_cast<uint16_t>(c.transport);
  header.csum_offset = static_cast<uint16_t>(field);
}

// Writes one packet, or several as one. The virtio_net_hdr is written over the bytes before the
// packet, which are restored afterwards: the kernel reads one piece faster than two.
void write_item(Engine& engine, const Workspace& w, Item& item) {
  VirtioHeader header = {};
  if (item.parts > 1) make_super_packet(item, header);
  else if (item.first.verified) header.flags = VIRTIO_DATA_VALID;
  uint8_t* start = item.first.packet - VIRTIO_HEADER_BYTES;
  uint8_t kept[VIRTIO_HEADER_BYTES];
  memcpy(kept, start, sizeof kept);
  memcpy(start, &header, sizeof header);
  iovec parts[ITEM_PARTS_MAX];
  parts[0] = {start, VIRTIO_HEADER_BYTES + item.first.length};
  int count = 1;
  for (int part = w.next_part[item.first_part]; part != -1; part = w.next_part[part])
    parts[count++] = {const_cast<uint8_t*>(w.part_payload[part]), w.part_length[part]};
  ssize_t written;
  do {
    written = writev(engine.tun, parts, count);
  } while (written < 0 && errno == EINTR);
  memcpy(start, kept, sizeof kept);
  if (written < 0) engine.error(ERROR_TUN_WRITE);
}

}  // namespace

void write_tun(Engine& engine, Batch& batch, int count) {
  if (engine.tun < 0) return;
  static thread_local const std::unique_ptr<Workspace> workspace(new Workspace);
  Workspace& w = *workspace;
  w.item_count = 0;
  bool buckets_ready = false;
  for (int i = 0; i < count && i < BATCH_MAX; i++) {
    int32_t* d = batch.descriptor(i);
    if (d[MARK] != MARK_TUN) continue;
    d[MARK] = MARK_DROP;
    if (d[LENGTH] < 20 || d[LENGTH] > IPV6_BYTES_MAX) continue;
    if (!batch.holds(d[OFFSET], d[LENGTH], VIRTIO_HEADER_BYTES)) continue;
    const Candidate c = examine(batch.bytes + d[OFFSET], static_cast<size_t>(d[LENGTH]),
                                engine.tun_takes_udp);
    if (!c.verified) {
      begin(w, c, i);
      // No later packet may be joined with an earlier one, or it would overtake this one.
      if (c.ordered) buckets_ready = false;
      continue;
    }
    if (!buckets_ready) {
      memset(w.buckets, 0xff, sizeof w.buckets);
      buckets_ready = true;
    }
    int& bucket = bucket_of(w, c);
    if (bucket != -1 && c.joinable && same_flow(w.items[bucket].first, c) &&
        joins(w.items[bucket], c)) {
      append(w, w.items[bucket], c, i);
    } else {
      bucket = w.item_count;
      begin(w, c, i);
    }
  }
  for (int i = 0; i < w.item_count; i++) write_item(engine, w, w.items[i]);
}

}  // namespace postern
