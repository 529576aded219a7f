// The sockets of a worker that face the host: TCP connections, UDP flows and pings of devices that
// leave by sockets in place of a TUN. One table has them all; it belongs to one thread, and what is
// open is closed with it. A handle has the place in the table and a generation: a handle of a
// socket that is gone is refused (-EBADF). Functions return a value >= 0, or -errno.

#ifndef POSTERN_SOCKETS_H
#define POSTERN_SOCKETS_H

#include <net/if.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

#include "contract.h"

namespace postern {

// Where pieces may be: memory of the caller that stays where it is.
struct Arena {
  uint8_t* bytes;
  size_t size;
};

// A pair is a stream within this process, and is open from its beginning.
enum class SocketKind : uint8_t { NONE, TCP, PAIR, UDP, ECHO };

inline bool is_stream(SocketKind kind) {
  return kind == SocketKind::TCP || kind == SocketKind::PAIR;
}

struct Socket {
  int fd;
  // What the kernel said of a TCP connection when it failed, until the socket is closed.
  int32_t error;
  uint16_t generation;
  SocketKind kind;
  bool is_connecting;
  bool is_ipv6;
  // UDP: datagrams of one size may leave as one run (UDP_SEGMENT).
  bool takes_runs;
  // How many datagrams the kernel has lost here, as far as they are in SOCKET_LOST.
  uint32_t lost;
  // Of an echo socket: only this address may answer.
  uint8_t peer[16];
};

struct SocketTable {
  // -errno where the kernel gave none.
  int epoll = -1;
  int capacity = 0;
  int open = 0;
  char interface_name[IFNAMSIZ] = {};
  Arena arenas[SOCKET_ARENAS_MAX] = {};
  int arena_count = 0;
  // PIECE_WORDS, SOCKET_EVENT_WORDS and SOCKET_ERROR_WORDS numbers for each.
  int32_t* pieces = nullptr;
  int piece_count = 0;
  int32_t* events = nullptr;
  int event_count = 0;
  int32_t* error = nullptr;

  explicit SocketTable(int sockets);
  ~SocketTable();
  SocketTable(const SocketTable&) = delete;
  SocketTable& operator=(const SocketTable&) = delete;

  // Null for a handle that names no open socket.
  Socket* find(int32_t handle);
  // Keeps a descriptor; returns its handle.
  int32_t add(int fd, SocketKind kind, bool is_ipv6);
  bool is_full() const { return open == capacity; }
  // Closes; with `resets` a TCP connection ends with RST.
  void remove(int32_t handle, Socket& socket, bool resets);

 private:
  Socket* sockets_;
  // Places that are free, in the order in which they became free: a generation comes again as late
  // as possible.
  uint32_t* free_;
  uint32_t first_free_ = 0;
};

inline bool set_option(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0;
}
// A socket on the interface that the table names; -EMFILE where the table is full.
int open_host_socket(const SocketTable& table, bool is_ipv6, int type, int protocol);
// Connects a descriptor and keeps it in the table; closes it where that fails.
int32_t connect_and_add(SocketTable& table, int fd, SocketKind kind, const uint8_t* address,
                        size_t length, uint16_t port);

// Adds to SOCKET_LOST what the kernel has lost at a socket, `lost` in all.
void note_lost(SocketTable& table, Socket& socket, uint32_t lost);

// What the kernel may keep of a socket in each direction; 0: as it sees fit.
void set_room_of(int fd, int room);

// Begin a connection; `length` is 4 or 16, the port is in host order. Return the handle.
int32_t connect_tcp(SocketTable& table, const uint8_t* address, size_t length, uint16_t port,
                    int room);
int32_t connect_udp(SocketTable& table, const uint8_t* address, size_t length, uint16_t port,
                    int room);
// Opens a connection within this process, in place of one to a host: returns the handle of one end,
// and writes the descriptor of the other one, which is the caller's, to `error`.
int32_t open_pair(SocketTable& table, int room);
// A ping socket; -EACCES where the kernel does not allow it (net.ipv4.ping_group_range).
int32_t open_echo(SocketTable& table, const uint8_t* address, size_t length);

// Fills `events`; returns how many there are.
int take_socket_events(SocketTable& table);

// TCP: reads into the first `count` pieces, or writes them; returns the bytes.
int read_stream(SocketTable& table, int32_t handle, int count);
int write_stream(SocketTable& table, int32_t handle, int count);
int end_stream(SocketTable& table, int32_t handle);
// Says how much the kernel may keep of a TCP connection in one direction. Returns how much it may
// keep now; -EBUSY where it would be less, and there is something.
int set_stream_room(SocketTable& table, int32_t handle, bool sends, int bytes);

// UDP and echo, socket_datagrams.cc: a piece is a datagram, or a run of datagrams of one size.
int receive_from_host(SocketTable& table, int32_t handle, int count);
int send_to_host(SocketTable& table, int32_t handle, int count);
// Sends the first piece in as many IP fragments as it needs.
int send_fragmented(SocketTable& table, int32_t handle);
// Fills `error` with the oldest entry of the error queue; 0 where there is none.
int take_socket_error(SocketTable& table, int32_t handle);
// The MTU of the path, as far as the kernel knows it.
int path_mtu(SocketTable& table, int32_t handle);

// Says of each of the first `count` pieces whether it is a packet whose checksum is right: 0, or
// EBADMSG in PIECE_ERROR. A piece outside of its arena is none.
void verify_packets(SocketTable& table, int count);

// Closes a socket. `resets`: a TCP connection ends with RST, and what waits to be sent is dropped.
int close_socket(SocketTable& table, int32_t handle, bool resets);

// Whether the first `count` pieces are inside of their arenas.
bool are_pieces_valid(const SocketTable& table, int count);
inline int32_t* piece_of(SocketTable& table, int i) {
  return table.pieces + static_cast<size_t>(i) * PIECE_WORDS;
}
inline uint8_t* bytes_of_piece(SocketTable& table, const int32_t* piece) {
  return table.arenas[piece[PIECE_ARENA]].bytes + piece[PIECE_OFFSET];
}

}  // namespace postern

#endif
