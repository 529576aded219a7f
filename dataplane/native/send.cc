// The last step of the way out: queued datagrams are sent by sendmmsg; those of equal size for one
// endpoint are one UDP_SEGMENT train. What the kernel refuses is sent again without trains, and
// then counted.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "engine.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

namespace postern {

namespace {

constexpr size_t CONTROL_BYTES = 128;
// After a path refused a train, its datagrams go one by one for so long.
constexpr uint32_t SINGLE_SECONDS = 600;
// How long to wait for a full socket buffer before datagrams are dropped.
constexpr int FULL_BUFFER_WAIT_MS = 2;

uint32_t now_seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint32_t>(now.tv_sec);
}

// The parts that one message header points to.
struct Message {
  sockaddr_storage name;
  iovec buffer;
  alignas(cmsghdr) uint8_t control[CONTROL_BYTES];
};

bool is_zero(const uint8_t* bytes, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (bytes[i] != 0) return false;
  return true;
}

void write_name(Message& message, msghdr& header, const EndpointRecord& record) {
  if (record.family == 4) {
    auto& in = reinterpret_cast<sockaddr_in&>(message.name);
    in = {};
    in.sin_family = AF_INET;
    in.sin_port = htons(record.port);
    memcpy(&in.sin_addr, record.address, 4);
    header.msg_namelen = sizeof in;
  } else {
    auto& in = reinterpret_cast<sockaddr_in6&>(message.name);
    in = {};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(record.port);
    memcpy(&in.sin6_addr, record.address, 16);
    in.sin6_scope_id = record.scope;
    header.msg_namelen = sizeof in;
  }
  header.msg_name = &message.name;
}

template <typename T>
void add_control(msghdr& header, int level, int type, const T& value) {
  auto* c = reinterpret_cast<cmsghdr*>(static_cast<uint8_t*>(header.msg_control) +
                                       header.msg_controllen);
  c->cmsg_level = level;
  c->cmsg_type = type;
  c->cmsg_len = CMSG_LEN(sizeof value);
  memcpy(CMSG_DATA(c), &value, sizeof value);
  header.msg_controllen += CMSG_SPACE(sizeof value);
}

// Answers are sent from the address to which the datagram was sent, on the interface that routing
// chooses.
void write_control(Message& message, msghdr& header, const EndpointRecord& record,
                   uint16_t segment) {
  memset(message.control, 0, CONTROL_BYTES);
  header.msg_control = message.control;
  header.msg_controllen = 0;
  if (record.family == 4 && !is_zero(record.local, 4)) {
    in_pktinfo info = {};
    memcpy(&info.ipi_spec_dst, record.local, 4);
    add_control(header, IPPROTO_IP, IP_PKTINFO, info);
  } else if (record.family == 6 && !is_zero(record.local, 16)) {
    in6_pktinfo info = {};
    memcpy(&info.ipi6_addr, record.local, 16);
    // A link-local address has a meaning only together with its interface.
    if (record.local[0] == 0xfe && (record.local[1] & 0xc0) == 0x80)
      info.ipi6_ifindex = static_cast<decltype(info.ipi6_ifindex)>(record.scope);
    add_control(header, IPPROTO_IPV6, IPV6_PKTINFO, info);
  }
  if (segment > 0) add_control(header, IPPROTO_UDP, UDP_SEGMENT, segment);
  if (header.msg_controllen == 0) header.msg_control = nullptr;
}

void write_message(Engine& engine, Message& message, msghdr& header, const EndpointRecord& record,
                   size_t offset, size_t length, uint16_t segment) {
  header = {};
  message.buffer = {engine.queue + offset, length};
  header.msg_iov = &message.buffer;
  header.msg_iovlen = 1;
  write_name(message, header, record);
  write_control(message, header, record, segment);
}

int socket_for(const Engine& engine, const EndpointRecord& record) {
  return record.family == 4 ? engine.udp4 : record.family == 6 ? engine.udp6 : -1;
}

// Whether to try again after waiting for a full socket buffer: once for a whole flush. After that,
// what does not fit is lost.
bool waits_for_room(int fd, int error, bool& waited) {
  if (waited || (error != EAGAIN && error != ENOBUFS)) return false;
  waited = true;
  pollfd ready = {fd, POLLOUT, 0};
  poll(&ready, 1, FULL_BUFFER_WAIT_MS);
  return true;
}

// Sends one datagram alone. Forgets a local address that no longer exists. False: the datagram is
// lost.
bool send_single(Engine& engine, EndpointRecord& record, size_t offset, size_t length,
                 bool& waited) {
  const int fd = socket_for(engine, record);
  bool forgot = false;
  for (;;) {
    Message message;
    msghdr header;
    write_message(engine, message, header, record, offset, length, 0);
    if (sendmsg(fd, &header, MSG_DONTWAIT) >= 0) return true;
    if (waits_for_room(fd, errno, waited)) continue;
    if (forgot || (errno != EINVAL && errno != ENETUNREACH && errno != EADDRNOTAVAIL)) return false;
    forgot = true;
    memset(record.local, 0, sizeof record.local);
  }
}

// Sends the datagrams of a train one by one.
void send_singly(Engine& engine, const Train& train, bool& waited) {
  EndpointRecord& record = engine.endpoints[train.endpoint];
  for (size_t at = 0; at < train.bytes; at += train.datagram_bytes) {
    const size_t left = train.bytes - at;
    const size_t length = left < train.datagram_bytes ? left : train.datagram_bytes;
    if (!send_single(engine, record, train.offset + at, length, waited))
      engine.error(ERROR_UDP_SEND);
  }
}

// Counts every datagram of a train that is dropped.
void give_up(Engine& engine, const Train& train) {
  engine.errors[ERROR_UDP_SEND] += train.datagrams;
}

// Sends the train that failed with `error` one by one, and remembers that its path takes no trains.
void recover(Engine& engine, const Train& train, int error, bool& waited) {
  EndpointRecord& record = engine.endpoints[train.endpoint];
  const bool may_be_size = error == EINVAL || error == EMSGSIZE;
  if (train.datagrams > 1) {
    // The path, or the network card, does not take trains (of this size).
    if (error == EIO) engine.udp_segments = false;
    else if (may_be_size) record.single_until = now_seconds() + SINGLE_SECONDS;
  }
  send_singly(engine, train, waited);
}

// Sends consecutive trains of one socket; returns how many of them are done.
int send_trains(Engine& engine, int first, int count, int fd, bool& waited) {
  static thread_local mmsghdr headers[Engine::QUEUE_TRAINS];
  static thread_local Message messages[Engine::QUEUE_TRAINS];
  for (int i = 0; i < count; i++) {
    const Train& train = engine.trains[first + i];
    write_message(engine, messages[i], headers[i].msg_hdr, engine.endpoints[train.endpoint],
                  train.offset, train.bytes, train.datagrams > 1 ? train.datagram_bytes : 0);
  }
  const int sent = sendmmsg(fd, headers, static_cast<unsigned>(count), MSG_DONTWAIT);
  if (sent > 0) return sent;
  if (errno == EINTR) return 0;
  if (waits_for_room(fd, errno, waited)) return 0;
  const Train& refused = engine.trains[first];
  if (errno == EAGAIN || errno == ENOBUFS) give_up(engine, refused);
  else recover(engine, refused, errno, waited);
  return 1;
}

bool goes_singly(const Engine& engine, const EndpointRecord& record) {
  return !engine.udp_segments ||
         (record.single_until != 0 && record.single_until > now_seconds());
}

// What a socket's buffer has room for, as the kernel counts: with what each packet costs it.
int32_t room_of(int fd) {
  int size = 0;
  socklen_t bytes = sizeof size;
  int unsent = 0;
  if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, &bytes) < 0 || ioctl(fd, SIOCOUTQ, &unsent) < 0)
    return INT32_MAX;
  return size > unsent ? size - unsent : 0;
}

}  // namespace

int32_t send_room(const Engine& engine) {
  int32_t room = INT32_MAX;
  for (const int fd : {engine.udp4, engine.udp6})
    if (fd >= 0) room = std::min(room, room_of(fd));
  return room;
}

uint8_t* reserve_datagram(Engine& engine, size_t length) {
  if (length > Engine::QUEUE_BYTES) return nullptr;
  if (engine.queue_used + length > Engine::QUEUE_BYTES ||
      engine.train_count == Engine::QUEUE_TRAINS)
    flush_datagrams(engine);
  return engine.queue + engine.queue_used;
}

void commit_datagram(Engine& engine, uint32_t endpoint, size_t length) {
  const size_t offset = engine.queue_used;
  engine.queue_used += length;
  if (engine.train_count > 0) {
    Train& last = engine.trains[engine.train_count - 1];
    const bool fits = !last.closed && last.endpoint == endpoint &&
                      length <= last.datagram_bytes && last.datagrams < TRAIN_DATAGRAMS &&
                      last.bytes + length <= TRAIN_BYTES &&
                      !goes_singly(engine, engine.endpoints[endpoint]);
    if (fits) {
      last.bytes += length;
      last.datagrams++;
      last.closed = length < last.datagram_bytes;
      return;
    }
  }
  engine.trains[engine.train_count++] = {offset, length, endpoint, static_cast<uint16_t>(length),
                                         1, false};
}

void flush_datagrams(Engine& engine) {
  int at = 0;
  bool waited = false;
  while (at < engine.train_count) {
    const int fd = socket_for(engine, engine.endpoints[engine.trains[at].endpoint]);
    if (fd < 0) {
      give_up(engine, engine.trains[at]);
      at++;
      continue;
    }
    int end = at + 1;
    while (end < engine.train_count &&
           socket_for(engine, engine.endpoints[engine.trains[end].endpoint]) == fd)
      end++;
    at += send_trains(engine, at, end - at, fd, waited);
  }
  engine.train_count = 0;
  engine.queue_used = 0;
}

}  // namespace postern
