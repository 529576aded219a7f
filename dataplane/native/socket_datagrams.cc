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

constexpr size_t GRO_BYTES = CMSG_SPACE(sizeof(int));
constexpr size_t SEGMENT_BYTES = CMSG_SPACE(sizeof(uint16_t));
constexpr size_t ERROR_BYTES = 512;

// Errors are kept with the type of their ICMP message, and what is too big comes back.
bool report_errors(int fd, bool is_ipv6) {
  return is_ipv6 ? set_option(fd, IPPROTO_IPV6, IPV6_RECVERR, 1) &&
                       set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE)
                 : set_option(fd, IPPROTO_IP, IP_RECVERR, 1) &&
                       set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
}

Socket* datagrams_of(SocketTable& table, int32_t handle) {
  Socket* socket = table.find(handle);
  return socket == nullptr || socket->kind == SocketKind::TCP ? nullptr : socket;
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

int segment_of(msghdr& message) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO) continue;
    int bytes = 0;
    memcpy(&bytes, CMSG_DATA(c), sizeof bytes);
    return bytes;
  }
  return 0;
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
  const int segment = segment_of(received.msg_hdr);
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

// What to send, as the kernel takes it.
struct Outgoing {
  mmsghdr headers[SOCKET_PIECES_MAX];
  iovec buffers[SOCKET_PIECES_MAX];
  alignas(cmsghdr) uint8_t control[SOCKET_PIECES_MAX][SEGMENT_BYTES];
};

bool is_run(const Socket& socket, const int32_t* piece) {
  const int32_t segment = piece[PIECE_SEGMENT];
  return socket.kind == SocketKind::UDP && segment > 0 && segment < piece[PIECE_LENGTH];
}

void prepare(SocketTable& table, const Socket& socket, int count, Outgoing& out) {
  for (int i = 0; i < count; i++) {
    const int32_t* piece = piece_of(table, i);
    msghdr& message = out.headers[i].msg_hdr;
    message = {};
    out.buffers[i] = {bytes_of_piece(table, piece), static_cast<size_t>(piece[PIECE_LENGTH])};
    message.msg_iov = &out.buffers[i];
    message.msg_iovlen = 1;
    if (!is_run(socket, piece)) continue;
    message.msg_control = out.control[i];
    message.msg_controllen = SEGMENT_BYTES;
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = IPPROTO_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof(uint16_t));
    const auto segment = static_cast<uint16_t>(piece[PIECE_SEGMENT]);
    memcpy(CMSG_DATA(c), &segment, sizeof segment);
  }
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
  const int32_t handle = connect_and_add(table, fd, SocketKind::ECHO, address, length, 0);
  if (handle > 0) memcpy(table.find(handle)->peer, address, length);
  return handle;
}

int receive_from_host(SocketTable& table, int32_t handle, int count) {
  const Socket* socket = datagrams_of(table, handle);
  if (socket == nullptr) return -EBADF;
  if (!are_pieces_valid(table, count)) return -EFAULT;
  mmsghdr headers[SOCKET_PIECES_MAX];
  iovec buffers[SOCKET_PIECES_MAX];
  sockaddr_storage names[SOCKET_PIECES_MAX];
  alignas(cmsghdr) uint8_t control[SOCKET_PIECES_MAX][GRO_BYTES];
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
    message.msg_controllen = GRO_BYTES;
  }
  const int got = again([&] {
    return recvmmsg(socket->fd, headers, static_cast<unsigned>(count), MSG_DONTWAIT, nullptr);
  });
  if (got < 0) return -errno;
  int kept = 0;
  for (int i = 0; i < got; i++)
    if (is_from_peer(*socket, names[i])) describe(table, kept++, i, headers[i]);
  return kept;
}

int send_to_host(SocketTable& table, int32_t handle, int count) {
  const Socket* socket = datagrams_of(table, handle);
  if (socket == nullptr) return -EBADF;
  if (!are_pieces_valid(table, count)) return -EFAULT;
  Outgoing out;
  prepare(table, *socket, count, out);
  int sent = 0;
  for (int at = 0; at < count;) {
    const int done = again([&] {
      return sendmmsg(socket->fd, out.headers + at, static_cast<unsigned>(count - at),
                      MSG_NOSIGNAL | MSG_DONTWAIT);
    });
    for (int i = 0; i < done; i++) piece_of(table, at + i)[PIECE_ERROR] = 0;
    if (done > 0) {
      at += done;
      sent += done;
      continue;
    }
    int32_t* piece = piece_of(table, at++);
    int result = -errno;
    // A run that is refused for its size or its number, or because the path takes none.
    if (is_run(*socket, piece) && result != -EAGAIN)
      result = send_singly(socket->fd, bytes_of_piece(table, piece),
                           static_cast<size_t>(piece[PIECE_LENGTH]),
                           static_cast<size_t>(piece[PIECE_SEGMENT]));
    piece[PIECE_ERROR] = -result;
    if (result == 0) sent++;
  }
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
