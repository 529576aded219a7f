// The table of the host's sockets, TCP, and the events of all of them. One epoll descriptor has
// every socket, edge-triggered (epoll(7)): a socket is registered once, and no system call says
// that somebody stopped reading. Sources: connect(2), socket(7), tcp(7), ip(7), ipv6(7).

#include "sockets.h"

#include <arpa/inet.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "checksum.h"

namespace postern {

namespace {

constexpr int GENERATION_SHIFT = 16;
constexpr uint16_t GENERATIONS = 1 << 15;
constexpr int SLOT_MASK = (1 << GENERATION_SHIFT) - 1;
static_assert(HOST_SOCKETS_MAX <= SLOT_MASK + 1, "a place has 16 bits of a handle");
// Clouds forget a quiet connection after 350 s.
constexpr int KEEPALIVE_SECONDS = 120;
constexpr int EVENTS_TAKEN = 256;
#ifndef SO_BUF_LOCK
// Since Linux 5.14; older headers lack it.
#define SO_BUF_LOCK 72
#endif
constexpr int SEND_LOCK = 1;
constexpr int RECEIVE_LOCK = 2;

void close_with_reset(int fd) {
  const linger reset = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  close(fd);
}

// The error that waits at a socket; reading it clears it.
int pending_error(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 ? errno : error;
}

// What a read or a write has failed with. The kernel tells it once, and a read after that finds an
// end of the stream: so what has ended the connection is kept.
int failure_of(Socket& socket) {
  const int error = errno;
  const bool may_go_on = error == EAGAIN || error == EINTR || error == EPIPE || error == ENOBUFS ||
                         error == ENOMEM;
  if (!may_go_on) socket.error = error;
  return -error;
}

int32_t flags_of(Socket& socket, uint32_t events) {
  int32_t flags = 0;
  const bool has_failed = (events & (EPOLLERR | EPOLLHUP)) != 0;
  if (!is_stream(socket.kind)) {
    if (has_failed) flags |= SOCKET_FAILED;
  } else if (has_failed || socket.is_connecting) {
    const int error = socket.error != 0 ? socket.error : pending_error(socket.fd);
    if (error != 0) {
      socket.error = error;
      return SOCKET_FAILED;
    }
    if (socket.is_connecting && (events & EPOLLOUT) == 0) return 0;
    if (socket.is_connecting) flags |= SOCKET_CONNECTED;
    socket.is_connecting = false;
    // Both halves have ended, and no error says so.
    if ((events & EPOLLHUP) != 0) {
      flags |= SOCKET_ENDED;
      if (socket.kind == SocketKind::PAIR) flags |= SOCKET_GONE;
    }
  }
  if ((events & EPOLLIN) != 0) flags |= SOCKET_READABLE;
  if ((events & EPOLLOUT) != 0) flags |= SOCKET_WRITABLE;
  if ((events & EPOLLRDHUP) != 0) flags |= SOCKET_ENDED;
  return flags;
}

// The first `count` pieces as the kernel takes them; 0 where they are not valid, or one is empty: a
// read of nothing would look like the end.
int gather(SocketTable& table, int count, iovec* buffers) {
  if (!are_pieces_valid(table, count)) return 0;
  for (int i = 0; i < count; i++) {
    const int32_t* piece = piece_of(table, i);
    if (piece[PIECE_LENGTH] == 0) return 0;
    buffers[i] = {bytes_of_piece(table, piece), static_cast<size_t>(piece[PIECE_LENGTH])};
  }
  return count;
}

// The kernel doubles what it is asked for, because that counts its own structures too.
bool set_size(int fd, int option, int bytes) {
  return set_option(fd, SOL_SOCKET, option, bytes / 2);
}

int option_of(int fd, int option) {
  int value = 0;
  socklen_t length = sizeof value;
  return getsockopt(fd, SOL_SOCKET, option, &value, &length) < 0 ? -errno : value;
}

// Makes the memory for what a host sends larger than net.core.rmem_max, which bounds SO_RCVBUF: the
// kernel gives a socket what a reader wants to wait for, within net.ipv4.tcp_rmem. It alone knows
// how much memory a window takes, so a half is tried first. Returns how much there is.
int grow_receive(int fd, int bytes, int locks) {
  set_option(fd, SOL_SOCKET, SO_BUF_LOCK, locks & ~RECEIVE_LOCK);
  const int half = bytes / 2;
  set_option(fd, SOL_SOCKET, SO_RCVLOWAT, half);
  const int first = option_of(fd, SO_RCVBUF);
  if (first > 0 && first < bytes)
    set_option(fd, SOL_SOCKET, SO_RCVLOWAT, static_cast<int>(int64_t{half} * bytes / first));
  set_option(fd, SOL_SOCKET, SO_RCVLOWAT, 1);
  set_option(fd, SOL_SOCKET, SO_BUF_LOCK, locks | RECEIVE_LOCK);
  set_option(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, bytes);
  return option_of(fd, SO_RCVBUF);
}

// How many datagrams the kernel had no room for; 0 where it does not say so.
uint32_t lost_at(int fd) {
  uint32_t memory[SK_MEMINFO_VARS] = {};
  socklen_t length = sizeof memory;
  const int result = getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &length);
  return result < 0 ? 0 : memory[SK_MEMINFO_DROPS];
}

Socket* stream_of(SocketTable& table, int32_t handle) {
  Socket* socket = table.find(handle);
  return socket == nullptr || !is_stream(socket->kind) ? nullptr : socket;
}

}  // namespace

SocketTable::SocketTable(int sockets) : capacity(sockets) {
  const auto places = static_cast<size_t>(sockets);
  sockets_ = static_cast<Socket*>(calloc(places, sizeof(Socket)));
  free_ = static_cast<uint32_t*>(calloc(places, sizeof(uint32_t)));
  if (sockets_ == nullptr || free_ == nullptr) abort();
  for (size_t i = 0; i < places; i++) free_[i] = static_cast<uint32_t>(i);
  epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) epoll = -errno;
}

SocketTable::~SocketTable() {
  for (int i = 0; i < capacity && open > 0; i++)
    if (sockets_[i].kind != SocketKind::NONE) {
      if (sockets_[i].kind == SocketKind::TCP) close_with_reset(sockets_[i].fd);
      else close(sockets_[i].fd);
      open--;
    }
  if (epoll >= 0) close(epoll);
  free(sockets_);
  free(free_);
}

Socket* SocketTable::find(int32_t handle) {
  const int32_t place = handle & SLOT_MASK;
  if (handle <= 0 || place >= capacity) return nullptr;
  Socket& socket = sockets_[place];
  const bool is_open = socket.kind != SocketKind::NONE;
  return is_open && socket.generation == handle >> GENERATION_SHIFT ? &socket : nullptr;
}

int32_t SocketTable::add(int fd, SocketKind kind, bool is_ipv6) {
  const uint32_t place = free_[first_free_];
  Socket& socket = sockets_[place];
  // A generation is never 0: a handle of 0 names nothing.
  const auto generation = static_cast<uint16_t>(socket.generation % (GENERATIONS - 1) + 1);
  const auto handle = static_cast<int32_t>(generation << GENERATION_SHIFT | place);
  epoll_event wanted = {};
  wanted.data.u32 = static_cast<uint32_t>(handle);
  wanted.events = EPOLLIN | EPOLLET;
  // A UDP socket would report room after each datagram.
  if (is_stream(kind)) wanted.events |= EPOLLOUT | EPOLLRDHUP;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted) < 0) return -errno;
  socket = {fd,      0, generation, kind, kind == SocketKind::TCP,
            is_ipv6, kind == SocketKind::UDP, 0, {}};
  first_free_ = (first_free_ + 1) % static_cast<uint32_t>(capacity);
  open++;
  return handle;
}

void SocketTable::remove(int32_t handle, Socket& socket, bool resets) {
  // A child that this process is just starting may have the descriptor too, and keep it registered.
  epoll_event unused = {};
  epoll_ctl(epoll, EPOLL_CTL_DEL, socket.fd, &unused);
  if (!is_stream(socket.kind)) note_lost(*this, socket, lost_at(socket.fd));
  if (resets && socket.kind == SocketKind::TCP) close_with_reset(socket.fd);
  else close(socket.fd);
  socket.kind = SocketKind::NONE;
  const auto places = static_cast<uint32_t>(capacity);
  const auto free_places = places - static_cast<uint32_t>(open);
  free_[(first_free_ + free_places) % places] = static_cast<uint32_t>(handle & SLOT_MASK);
  open--;
}

bool are_pieces_valid(const SocketTable& table, int count) {
  if (count < 1 || count > table.piece_count) return false;
  for (int i = 0; i < count; i++) {
    const int32_t* piece = table.pieces + static_cast<size_t>(i) * PIECE_WORDS;
    const int32_t arena = piece[PIECE_ARENA];
    if (arena < 0 || arena >= table.arena_count) return false;
    const int64_t offset = piece[PIECE_OFFSET];
    const int64_t length = piece[PIECE_LENGTH];
    const auto size = static_cast<int64_t>(table.arenas[arena].size);
    if (offset < 0 || length < 0 || offset > size || length > size - offset) return false;
  }
  return true;
}

int open_host_socket(const SocketTable& table, bool is_ipv6, int type, int protocol) {
  if (table.is_full()) return -EMFILE;
  const int family = is_ipv6 ? AF_INET6 : AF_INET;
  const int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
  if (fd < 0) return -errno;
  // Otherwise ::ffff:127.0.0.1 would be the loopback of IPv4.
  bool is_ready = !is_ipv6 || set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  const char* name = table.interface_name;
  if (is_ready && name[0] != 0)
    is_ready = setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name,
                          static_cast<socklen_t>(strlen(name) + 1)) == 0;
  if (is_ready) return fd;
  const int error = errno;
  close(fd);
  return -error;
}

void note_lost(SocketTable& table, Socket& socket, uint32_t lost) {
  // An older kernel says at the end that it has lost none.
  const uint32_t more = lost > socket.lost ? lost - socket.lost : 0;
  auto& all = table.error[SOCKET_LOST];
  all = static_cast<int32_t>(static_cast<uint32_t>(all) + more);
  socket.lost += more;
}

void set_room_of(int fd, int room) {
  if (room == 0) return;
  set_size(fd, SO_RCVBUF, room);
  set_size(fd, SO_SNDBUF, room);
}

int32_t connect_and_add(SocketTable& table, int fd, SocketKind kind, const uint8_t* address,
                        size_t length, uint16_t port) {
  sockaddr_storage name = {};
  socklen_t name_bytes;
  if (length == 16) {
    auto& in = reinterpret_cast<sockaddr_in6&>(name);
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    memcpy(&in.sin6_addr, address, 16);
    name_bytes = sizeof in;
  } else {
    auto& in = reinterpret_cast<sockaddr_in&>(name);
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    memcpy(&in.sin_addr, address, 4);
    name_bytes = sizeof in;
  }
  int32_t result = 0;
  if (connect(fd, reinterpret_cast<sockaddr*>(&name), name_bytes) < 0 && errno != EINPROGRESS)
    result = -errno;
  if (result == 0) result = table.add(fd, kind, length == 16);
  if (result < 0) close(fd);
  return result;
}

int32_t connect_tcp(SocketTable& table, const uint8_t* address, size_t length, uint16_t port,
                    int room) {
  const int fd = open_host_socket(table, length == 16, SOCK_STREAM, 0);
  if (fd < 0) return fd;
  // The device has cut its bytes into segments already; nothing is gained by waiting for more.
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_SECONDS);
  // Without it an urgent byte is taken out of the stream.
  set_option(fd, SOL_SOCKET, SO_OOBINLINE, 1);
  // A size that is fixed before the SYN would fix the window scale too, so that the window could
  // never grow. Before Linux 5.14 the size is set after the SYN alone, which offers 64 KiB then.
  if (set_option(fd, SOL_SOCKET, SO_BUF_LOCK, 0)) {
    set_room_of(fd, room);
    set_option(fd, SOL_SOCKET, SO_BUF_LOCK, 0);
  }
  const int32_t handle = connect_and_add(table, fd, SocketKind::TCP, address, length, port);
  if (handle > 0) set_room_of(fd, room);
  return handle;
}

int32_t open_pair(SocketTable& table, int room) {
  if (table.is_full()) return -EMFILE;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0) return -errno;
  // What waits in one direction is counted where it was sent.
  for (const int end : ends)
    if (room > 0) set_size(end, SO_SNDBUF, room);
  const int32_t handle = table.add(ends[0], SocketKind::PAIR, false);
  if (handle > 0) {
    table.error[PAIR_END] = ends[1];
    return handle;
  }
  for (const int end : ends) close(end);
  return handle;
}

int take_socket_events(SocketTable& table) {
  epoll_event ready[EVENTS_TAKEN];
  const int most = table.event_count < EVENTS_TAKEN ? table.event_count : EVENTS_TAKEN;
  const int taken = epoll_wait(table.epoll, ready, most, 0);
  int count = 0;
  for (int i = 0; i < taken; i++) {
    const auto handle = static_cast<int32_t>(ready[i].data.u32);
    Socket* socket = table.find(handle);
    if (socket == nullptr) continue;
    const int32_t flags = flags_of(*socket, ready[i].events);
    if (flags == 0) continue;
    int32_t* event = table.events + static_cast<size_t>(count++) * SOCKET_EVENT_WORDS;
    event[SOCKET_EVENT_HANDLE] = handle;
    event[SOCKET_EVENT_FLAGS] = flags;
    event[SOCKET_EVENT_ERROR] = socket->error;
  }
  return count;
}

int read_stream(SocketTable& table, int32_t handle, int count) {
  Socket* socket = stream_of(table, handle);
  if (socket == nullptr) return -EBADF;
  iovec buffers[SOCKET_PIECES_MAX];
  if (gather(table, count, buffers) == 0) return -EFAULT;
  const ssize_t got = readv(socket->fd, buffers, count);
  if (got > 0) return static_cast<int>(got);
  // What came before the error was read first.
  if (socket->error != 0) return -socket->error;
  return got == 0 ? 0 : failure_of(*socket);
}

int write_stream(SocketTable& table, int32_t handle, int count) {
  Socket* socket = stream_of(table, handle);
  if (socket == nullptr) return -EBADF;
  if (socket->error != 0) return -socket->error;
  iovec buffers[SOCKET_PIECES_MAX];
  msghdr message = {};
  message.msg_iov = buffers;
  message.msg_iovlen = static_cast<size_t>(gather(table, count, buffers));
  if (message.msg_iovlen == 0) return -EFAULT;
  const ssize_t written = sendmsg(socket->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  return written < 0 ? failure_of(*socket) : static_cast<int>(written);
}

int end_stream(SocketTable& table, int32_t handle) {
  const Socket* socket = stream_of(table, handle);
  if (socket == nullptr) return -EBADF;
  if (socket->is_connecting) return -ENOTCONN;
  return shutdown(socket->fd, SHUT_WR) < 0 ? -errno : 0;
}

int set_stream_room(SocketTable& table, int32_t handle, bool sends, int bytes) {
  const Socket* socket = stream_of(table, handle);
  if (socket == nullptr) return -EBADF;
  const int fd = socket->fd;
  const int option = sends ? SO_SNDBUF : SO_RCVBUF;
  const int lock = sends ? SEND_LOCK : RECEIVE_LOCK;
  const int size = option_of(fd, option);
  const int locks = option_of(fd, SO_BUF_LOCK);
  if (locks >= 0 && (locks & lock) == 0) {
    // The kernel makes it larger by itself, and is stopped where it has reached the size.
    if (size >= bytes) set_option(fd, SOL_SOCKET, SO_BUF_LOCK, locks | lock);
    return size;
  }
  const int enough = bytes - bytes / 32;
  if (size <= bytes && size >= enough) return size;
  // SO_RCVBUF could make it smaller, and lose what comes at this moment.
  if (!sends && locks >= 0 && size < bytes) {
    const int grown = grow_receive(fd, bytes, locks);
    if (grown >= enough || grown > size) return grown;
  }
  int held = 0;
  if (bytes < size && ioctl(fd, sends ? SIOCOUTQ : SIOCINQ, &held) == 0 && held > 0) return -EBUSY;
  set_size(fd, option, bytes);
  if (!sends) set_option(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, bytes);
  const int got = option_of(fd, option);
  // An account without rights gets net.core.rmem_max; the kernel itself may give more.
  if (got < bytes && locks >= 0) set_option(fd, SOL_SOCKET, SO_BUF_LOCK, locks & ~lock);
  return got;
}

void verify_packets(SocketTable& table, int count) {
  const bool are_valid = are_pieces_valid(table, count);
  for (int i = 0; i < count; i++) {
    int32_t* piece = piece_of(table, i);
    const bool is_right =
        are_valid &&
        has_right_checksum(bytes_of_piece(table, piece), static_cast<size_t>(piece[PIECE_LENGTH]));
    piece[PIECE_ERROR] = is_right ? 0 : EBADMSG;
  }
}

int close_socket(SocketTable& table, int32_t handle, bool resets) {
  Socket* socket = table.find(handle);
  if (socket == nullptr) return -EBADF;
  table.remove(handle, *socket, resets);
  return 0;
}

}  // namespace postern
