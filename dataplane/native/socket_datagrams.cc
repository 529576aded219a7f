// UDP flows and pings of devices, over connected sockets: batches, runs of datagrams of one size
// (UDP_SEGMENT and UDP_GRO), and what routers and hosts answer to them. Sources: udp(7), ip(7),
// ipv6(7), icmp(7), recvmmsg(2), sendmmsg(2).

#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sockets.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace postern {

namespace {

constexpr size_t RECEIVED_BYTES = CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(uint32_t));
constexpr size_t SEGMENT_BYTES = CMSG_SPACE(sizeof(uint16_t));
constexpr size_t ERROR_BYTES = 512;
// What one run may have: the largest datagram of IPv4 less its headers.
constexpr int32_t RUN_BYTES = 65'507;

// Whether what is too big leaves in fragments, or comes back.
bool let_fragment(int fd, bool is_ipv6, bool may) {
  return is_ipv6 ? set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER,
                              may ? IPV6_PMTUDISC_DONT : IPV6_PMTUDISC_PROBE)
                 : set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER,
                              may ? IP_PMTUDISC_DONT : IP_PMTUDISC_PROBE);
}

// Errors are kept with the type of their ICMP message, and what is too big comes back.
bool report_errors(int fd, bool is_ipv6) {
  return (is_ipv6 ? set_option(fd, IPPROTO_IPV6, IPV6_RECVERR, 1)
                  : set_option(fd, IPPROTO_IP, IP_RECVERR, 1)) &&
         let_fragment(fd, is_ipv6, false);
}

Socket* datagrams_of(SocketTable& table, int32_t handle) {
  Socket* socket = table.find(handle);
  return socket == nullptr || is_stream(socket->kind) ? nullptr : socket;
}

// A call that fails because of an earlier datagram is made again: that error is in the error queue,
// and reporting it has taken the place of what was asked. What is too large stays too large, and
// would be in the queue twice.
template <typename Work>
auto again(Work work) -> decltype(work()) {
  const auto result = work();
  if (result >= 0 || errno == EAGAIN || errno == EMSGSIZE) return result;
  return work();
}

bool is_from_peer(const Socket& socket, const sockaddr_storage& name) {
  if (socket.kind != SocketKind::ECHO) return true;
  if (socket.is_ipv6)
    return memcmp(&reinterpret_cast<const sockaddr_in6&>(name).sin6_addr, socket.peer, 16) == 0;
  return memcmp(&reinterpret_cast<const sockaddr_in&>(name).sin_addr, socket.peer, 4) == 0;
}

// What the kernel says beside a message: one number.
template <typename Number>
Number said_beside(msghdr& message, int level, int type) {
  Number number = 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c))
    if (c->cmsg_level == level && c->cmsg_type == type)
      memcpy(&number, CMSG_DATA(c), sizeof number);
  return number;
}

// Describes the received message `from` by piece `to`, which takes over its memory.
void describe(SocketTable& table, int to, int from, mmsghdr& received) {
  int32_t* piece = piece_of(table, to);
  if (from != to) {
    int32_t* other = piece_of(table, from);
    for (int word = 0; word < PIECE_WORDS; word++) {
      const int32_t kept = piece[word];
      piece[word] = other[word];
      other[word] = kept;
    }
  }
  const auto length = static_cast<int32_t>(received.msg_len);
  const int segment = said_beside<int>(received.msg_hdr, IPPROTO_UDP, UDP_GRO);
  piece[PIECE_LENGTH] = length;
  piece[PIECE_SEGMENT] = segment < length ? segment : 0;
  piece[PIECE_ERROR] = (received.msg_hdr.msg_flags & MSG_TRUNC) != 0 ? EMSGSIZE : 0;
}

// Sends the datagrams of a run one by one, because the path takes no run; 0 or -errno of the first
// that is lost.
int send_singly(int fd, uint8_t* bytes, size_t length, size_t segment) {
  int result = 0;
  for (size_t at = 0; at < length; at += segment) {
    const size_t left = length - at;
    const size_t size = left < segment ? left : segment;
    const ssize_t sent =
        again([&] { return send(fd, bytes + at, size, MSG_NOSIGNAL | MSG_DONTWAIT); });
    if (sent < 0 && result == 0) result = -errno;
  }
  return result;
}

// What to send, as the kernel takes it: a message is a piece, or some that leave as one run.
struct Outgoing {
  int count = 0;
  // The first piece of each message, and how many it has.
  int first[SOCKET_PIECES_MAX];
  int pieces[SOCKET_PIECES_MAX];
  mmsghdr headers[SOCKET_PIECES_MAX];
  iovec buffers[SOCKET_PIECES_MAX];
  alignas(cmsghdr) uint8_t control[SOCKET_PIECES_MAX][SEGMENT_BYTES];
};

bool is_run(const Socket& socket, const int32_t* piece) {
  const int32_t segment = piece[PIECE_SEGMENT];
  return socket.kind == SocketKind::UDP && segment > 0 && segment < piece[PIECE_LENGTH];
}

// How many pieces from `first` on leave as one run: datagrams of one size, the last may be shorter.
int joined_from(SocketTable& table, const Socket& socket, int first, int count) {
  const int32_t* piece = piece_of(table, first);
  const int32_t size = piece[PIECE_LENGTH];
  if (!socket.takes_runs || size == 0 || is_run(socket, piece)) return 1;
  int32_t bytes = size;
  int end = first + 1;
  for (; end < count; end++) {
    const int32_t* next = piece_of(table, end);
    const int32_t length = next[PIECE_LENGTH];
    if (length == 0 || length > size || bytes + length > RUN_BYTES || is_run(socket, next)) break;
    bytes += length;
    if (length < size) return end + 1 - first;
  }
  return end - first;
}

void prepare(SocketTable& table, const Socket& socket, int count, Outgoing& out) {
  for (int i = 0; i < count; i++) {
    const int32_t* piece = piece_of(table, i);
    out.buffers[i] = {bytes_of_piece(table, piece), static_cast<size_t>(piece[PIECE_LENGTH])};
  }
  for (int at = 0; at < count;) {
    const int joined = joined_from(table, socket, at, count);
    const int i = out.count++;
    const int32_t* piece = piece_of(table, at);
    out.first[i] = at;
    out.pieces[i] = joined;
    msghdr& message = out.headers[i].msg_hdr;
    message = {};
    message.msg_iov = &out.buffers[at];
    message.msg_iovlen = static_cast<size_t>(joined);
    at += joined;
    if (joined == 1 && !is_run(socket, piece)) continue;
    message.msg_control = out.control[i];
    message.msg_controllen = SEGMENT_BYTES;
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = IPPROTO_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof(uint16_t));
    const auto segment = static_cast<uint16_t>(piece[joined == 1 ? PIECE_SEGMENT : PIECE_LENGTH]);
    memcpy(CMSG_DATA(c), &segment, sizeof segment);
  }
}

// Sends the pieces of a message that failed with `error` one by one, where it was a run: the path
// takes none, or none of this size. Returns how many were sent.
int send_apart(SocketTable& table, Socket& socket, int first, int count, int error) {
  int sent = 0;
  if (error == EIO) socket.takes_runs = false;
  for (int i = first; i < first + count; i++) {
    int32_t* piece = piece_of(table, i);
    const auto length = static_cast<size_t>(piece[PIECE_LENGTH]);
    const bool is_joined = is_run(socket, piece);
    int result = -error;
    if ((count > 1 || is_joined) && error != EAGAIN)
      result = send_singly(socket.fd, bytes_of_piece(table, piece), length,
                           is_joined ? static_cast<size_t>(piece[PIECE_SEGMENT]) : length);
    piece[PIECE_ERROR] = -result;
    if (result == 0) sent++;
  }
  return sent;
}

}  // namespace

int32_t connect_udp(SocketTable& table, const uint8_t* address, size_t length, uint16_t port,
                    int room) {
  const bool is_ipv6 = length == 16;
  const int fd = open_host_socket(table, is_ipv6, SOCK_DGRAM, 0);
  if (fd < 0) return fd;
  if (!report_errors(fd, is_ipv6)) {
    const int error = errno;
    close(fd);
    return -error;
  }
  set_option(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
  // An older kernel gives and takes datagrams one by one.
  set_option(fd, IPPROTO_UDP, UDP_GRO, 1);
  set_room_of(fd, room);
  return connect_and_add(table, fd, SocketKind::UDP, address, length, port);
}

int32_t open_echo(SocketTable& table, const uint8_t* address, size_t length) {
  const bool is_ipv6 = length == 16;
  const int protocol = is_ipv6 ? static_cast<int>(IPPROTO_ICMPV6) : IPPROTO_ICMP;
  const int fd = open_host_socket(table, is_ipv6, SOCK_DGRAM, protocol);
  if (fd < 0) return fd;
  if (!report_errors(fd, is_ipv6)) {
    const int error = errno;
    close(fd);
    return -error;
  }
  set_option(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
  const int32_t handle = connect_and_add(table, fd, SocketKind::ECHO, address, length, 0);
  if (handle > 0) memcpy(table.find(handle)->peer, address, length);
  return handle;
}

int receive_from_host(SocketTable& table, int32_t handle, int count) {
  Socket* socket = datagrams_of(table, handle);
  if (socket == nullptr) return -EBADF;
  if (!are_pieces_valid(table, count)) return -EFAULT;
  mmsghdr headers[SOCKET_PIECES_MAX];
  iovec buffers[SOCKET_PIECES_MAX];
  sockaddr_storage names[SOCKET_PIECES_MAX];
  alignas(cmsghdr) uint8_t control[SOCKET_PIECES_MAX][RECEIVED_BYTES];
  for (int i = 0; i < count; i++) {
    const int32_t* piece = piece_of(table, i);
    msghdr& message = headers[i].msg_hdr;
    message = {};
    buffers[i] = {bytes_of_piece(table, piece), static_cast<size_t>(piece[PIECE_LENGTH])};
    message.msg_iov = &buffers[i];
    message.msg_iovlen = 1;
    message.msg_name = &names[i];
    message.msg_namelen = sizeof names[i];
    message.msg_control = control[i];
    message.msg_controllen = RECEIVED_BYTES;
  }
  const int got = again([&] {
    return recvmmsg(socket->fd, headers, static_cast<unsigned>(count), MSG_DONTWAIT, nullptr);
  });
  if (got < 0) return -errno;
  // The last message says most; the kernel says nothing where it has lost none.
  if (got > 0)
    note_lost(table, *socket,
              said_beside<uint32_t>(headers[got - 1].msg_hdr, SOL_SOCKET, SO_RXQ_OVFL));
  int kept = 0;
  for (int i = 0; i < got; i++)
    if (is_from_peer(*socket, names[i])) describe(table, kept++, i, headers[i]);
  return kept;
}

int send_to_host(SocketTable& table, int32_t handle, int count) {
  Socket* socket = datagrams_of(table, handle);
  if (socket == nullptr) return -EBADF;
  if (!are_pieces_valid(table, count)) return -EFAULT;
  Outgoing out;
  prepare(table, *socket, count, out);
  int sent = 0;
  for (int at = 0; at < out.count;) {
    const int done = again([&] {
      return sendmmsg(socket->fd, out.headers + at, static_cast<unsigned>(out.count - at),
                      MSG_NOSIGNAL | MSG_DONTWAIT);
    });
    if (done <= 0) {
      sent += send_apart(table, *socket, out.first[at], out.pieces[at], errno);
      at++;
      continue;
    }
    for (int end = at + done; at < end; at++) {
      for (int i = 0; i < out.pieces[at]; i++) piece_of(table, out.first[at] + i)[PIECE_ERROR] = 0;
      sent += out.pieces[at];
    }
  }
  return sent;
}

int send_fragmented(SocketTable& table, int32_t handle) {
  const Socket* socket = datagrams_of(table, handle);
  if (socket == nullptr) return -EBADF;
  const int fd = socket->fd;
  const bool is_ipv6 = socket->is_ipv6;
  if (!let_fragment(fd, is_ipv6, true)) return -errno;
  const int sent = send_to_host(table, handle, 1);
  let_fragment(fd, is_ipv6, false);
  return sent;
}

int take_socket_error(SocketTable& table, int32_t handle) {
  const Socket* socket = datagrams_of(table, handle);
  if (socket == nullptr) return -EBADF;
  alignas(cmsghdr) uint8_t control[ERROR_BYTES];
  msghdr message = {};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
    return errno == EAGAIN ? 0 : -errno;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    const bool is_error = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
                          (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
    if (!is_error) continue;
    sock_extended_err found;
    memcpy(&found, CMSG_DATA(c), sizeof found);
    table.error[SOCKET_ERROR] = static_cast<int32_t>(found.ee_errno);
    table.error[SOCKET_ERROR_ORIGIN] = found.ee_origin;
    table.error[SOCKET_ERROR_TYPE] = found.ee_type;
    table.error[SOCKET_ERROR_CODE] = found.ee_code;
    table.error[SOCKET_ERROR_MTU] =
        found.ee_errno == EMSGSIZE ? static_cast<int32_t>(found.ee_info) : 0;
    return 1;
  }
  return 0;
}

int path_mtu(SocketTable& table, int32_t handle) {
  const Socket* socket = table.find(handle);
  if (socket == nullptr) return -EBADF;
  int mtu = 0;
  socklen_t length = sizeof mtu;
  const int result = socket->is_ipv6
                         ? getsockopt(socket->fd, IPPROTO_IPV6, IPV6_MTU, &mtu, &length)
                         : getsockopt(socket->fd, IPPROTO_IP, IP_MTU, &mtu, &length);
  return result < 0 ? -errno : mtu;
}

}  // namespace postern
