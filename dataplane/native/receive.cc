// The way in: recvmmsg with UDP_GRO fills the arena of datagrams, with one descriptor per datagram.
// Datagrams that TypeScript marked are opened in place.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <cerrno>

#include "engine.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace postern {

namespace {

constexpr size_t CONTROL_BYTES = 128;
// A batch of more bytes makes the next one take fewer messages, one of fewer bytes makes it take
// more, so that a batch stays in the cache between its steps.
constexpr size_t LARGE_BATCH_BYTES = 1024 * 1024;
constexpr size_t SMALL_BATCH_BYTES = 256 * 1024;
constexpr int RECEIVE_LIMIT_MIN = 16;
// Slots that the first socket leaves to the second one, so that a flood on one cannot block the
// other.
constexpr int SECOND_SOCKET_SLOTS = 8;

void write_source(EndpointRecord& record, const sockaddr_storage& name) {
  memset(&record, 0, sizeof record);
  if (name.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(name);
    record.family = 4;
    record.port = ntohs(in.sin_port);
    memcpy(record.address, &in.sin_addr, 4);
  } else {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(name);
    record.family = 6;
    record.port = ntohs(in.sin6_port);
    record.scope = in.sin6_scope_id;
    memcpy(record.address, &in.sin6_addr, 16);
  }
}

// Reads the local address to which the datagram was sent. Returns the size of the datagrams that
// the kernel joined, or 0.
int read_control(msghdr& header, EndpointRecord& record) {
  int segment = 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
      in_pktinfo info;
      memcpy(&info, CMSG_DATA(c), sizeof info);
      memcpy(record.local, &info.ipi_spec_dst, 4);
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info;
      memcpy(&info, CMSG_DATA(c), sizeof info);
      memcpy(record.local, &info.ipi6_addr, 16);
    } else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
      memcpy(&segment, CMSG_DATA(c), sizeof segment);
    }
  }
  return segment;
}

// Receives from one socket into the slots from `first_slot`; returns the messages received.
int receive_from(Engine& engine, int fd, int first_slot, int slots, int& count, size_t& bytes) {
  static thread_local mmsghdr messages[DATAGRAM_SLOTS];
  static thread_local iovec buffers[DATAGRAM_SLOTS];
  static thread_local sockaddr_storage names[DATAGRAM_SLOTS];
  alignas(cmsghdr) static thread_local uint8_t controls[DATAGRAM_SLOTS][CONTROL_BYTES];
  for (int i = 0; i < slots; i++) {
    buffers[i] = {engine.datagrams.bytes + (first_slot + i) * SLOT_BYTES, 65536};
    msghdr& header = messages[i].msg_hdr;
    header = {};
    header.msg_name = &names[i];
    header.msg_namelen = sizeof names[i];
    header.msg_iov = &buffers[i];
    header.msg_iovlen = 1;
    header.msg_control = controls[i];
    header.msg_controllen = CONTROL_BYTES;
  }
  const int received = recvmmsg(fd, messages, static_cast<unsigned>(slots), MSG_DONTWAIT, nullptr);
  if (received < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) engine.error(ERROR_UDP_RECEIVE);
    return 0;
  }
  for (int i = 0; i < received; i++) {
    const int slot = first_slot + i;
    EndpointRecord& record = engine.endpoints[slot];
    write_source(record, names[i]);
    const int segment = read_control(messages[i].msg_hdr, record);
    const size_t length = messages[i].msg_len;
    const bool truncated = (messages[i].msg_hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
    const size_t step = segment > 0 && static_cast<size_t>(segment) < length && !truncated
                            ? static_cast<size_t>(segment)
                            : length;
    size_t at = 0;
    do {
      if (count == engine.datagrams.capacity) {
        engine.error(ERROR_UDP_RECEIVE);
        break;
      }
      int32_t* d = engine.datagrams.descriptor(count++);
      d[OFFSET] = static_cast<int32_t>(slot * SLOT_BYTES + at);
      d[LENGTH] = static_cast<int32_t>(length - at < step ? length - at : step);
      d[MARK] = truncated ? MARK_TRUNCATED : MARK_DROP;
      d[ADDRESS] = slot;
      at += step;
    } while (at < length);
    bytes += length;
  }
  return received;
}

}  // namespace

int receive_datagrams(Engine& engine) {
  int count = 0;
  size_t bytes = 0;
  int used = 0;
  const bool from4 = engine.udp4 >= 0 && engine.udp4_readable;
  const bool from6 = engine.udp6 >= 0 && engine.udp6_readable;
  if (from4) {
    const int limit = engine.receive_limit - (from6 ? SECOND_SOCKET_SLOTS : 0);
    used = receive_from(engine, engine.udp4, 0, limit, count, bytes);
  }
  if (from6) receive_from(engine, engine.udp6, used, engine.receive_limit - used, count, bytes);
  engine.coalescer.count(count, bytes);
  engine.udp4_readable = true;
  engine.udp6_readable = true;
  if (bytes > LARGE_BATCH_BYTES && engine.receive_limit > RECEIVE_LIMIT_MIN)
    engine.receive_limit /= 2;
  else if (bytes < SMALL_BATCH_BYTES && engine.receive_limit < DATAGRAM_SLOTS)
    engine.receive_limit *= 2;
  return count;
}

void open_datagrams(Engine& engine, Batch& batch, int count) {
  for (int i = 0; i < count; i++) {
    int32_t* d = batch.descriptor(i);
    if (d[MARK] != MARK_OPEN) continue;
    d[MARK] = MARK_OPEN_FAILED;
    const int32_t length = d[LENGTH];
    if (length < static_cast<int32_t>(TRANSPORT_OVERHEAD_BYTES)) continue;
    if (!batch.holds(d[OFFSET], length)) continue;
    const KeySlot* key = engine.keys.find(d[KEY], d[GENERATION]);
    if (key == nullptr) continue;
    uint8_t* message = batch.bytes + d[OFFSET];
    uint64_t counter = 0;
    for (int byte = 0; byte < 8; byte++)
      counter |= static_cast<uint64_t>(message[8 + byte]) << (8 * byte);
    const size_t inner = static_cast<size_t>(length) - TRANSPORT_OVERHEAD_BYTES;
    uint8_t* sealed = message + TRANSPORT_HEADER_BYTES;
    if (!engine.aead.open(key->owner, key->receive, counter, sealed, inner)) continue;
    d[OFFSET] += static_cast<int32_t>(TRANSPORT_HEADER_BYTES);
    d[LENGTH] = static_cast<int32_t>(inner);
    d[MARK] = MARK_OPENED;
  }
}

}  // namespace postern
