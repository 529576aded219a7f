// The numbers that the addon shares with dataplane/contract.ts, dataplane/socket-contract.ts,
// dataplane/constants.ts and dataplane/wire/address.ts; a test compares them. Everything here is
// plain data.

#ifndef POSTERN_CONTRACT_H
#define POSTERN_CONTRACT_H

#include <cstddef>
#include <cstdint>

namespace postern {

// contract.ts: a descriptor is DESCRIPTOR_WORDS numbers.
constexpr int DESCRIPTOR_WORDS = 8;
constexpr int OFFSET = 0;
constexpr int LENGTH = 1;
constexpr int KEY = 2;
constexpr int GENERATION = 3;
constexpr int MARK = 4;
constexpr int ADDRESS = 5;
constexpr int DATAGRAMS = 6;
constexpr int KIND = 6;
constexpr int WORKER = 7;

constexpr int32_t MARK_DROP = 0;
constexpr int32_t MARK_OPEN = 1;
constexpr int32_t MARK_OPENED = 2;
constexpr int32_t MARK_OPEN_FAILED = 3;
constexpr int32_t MARK_TUN = 4;
constexpr int32_t MARK_SEAL = 5;
constexpr int32_t MARK_SEALED = 6;
constexpr int32_t MARK_SEALED_REKEY = 7;
constexpr int32_t MARK_SEAL_EXHAUSTED = 8;
constexpr int32_t MARK_SEAL_INVALID = 9;
constexpr int32_t MARK_TRUNCATED = 10;
constexpr int32_t MARK_HAND_OVER = 11;
constexpr int32_t MARK_DOOR = 12;

constexpr int32_t KIND_FROM_TUN = 0;
constexpr int32_t KIND_FROM_PEER = 1;
constexpr int32_t KIND_DATAGRAM = 2;
constexpr int32_t KIND_INITIATION = 3;
constexpr int32_t KIND_MOVE = 4;

constexpr int ERROR_UDP_RECEIVE = 0;
constexpr int ERROR_UDP_SEND = 1;
constexpr int ERROR_TUN_READ = 2;
constexpr int ERROR_TUN_WRITE = 3;
constexpr int ERRORS = 4;

constexpr int EVENT_UDP = 1;
constexpr int EVENT_TUN = 2;
constexpr int EVENT_WAKE = 4;
constexpr int EVENT_TUN_GONE = 8;
constexpr int EVENT_HANDED = 16;
constexpr int EVENT_SOCKETS = 32;

// constants.ts
constexpr uint64_t REKEY_AFTER_MESSAGES = 1ull << 52;
constexpr uint64_t REJECT_AFTER_MESSAGES = (1ull << 53) - (1ull << 13) - 1;
constexpr uint32_t MAX_KEYPAIRS = 3 * 65536;
constexpr int DATAGRAM_SLOTS = 64;
constexpr int DATAGRAMS_PER_SLOT = 64;
constexpr int PACKET_SLOTS = 64;
constexpr size_t SLOT_BYTES = 65536 + 64 * 5;
constexpr size_t SLOT_HEADROOM_BYTES = 64;
constexpr size_t TAG_BYTES = 16;
constexpr size_t KEY_BYTES = 32;
constexpr size_t PADDING_BYTES = 16;
constexpr int MAX_WORKERS = 8;
constexpr int SLEEPING_WORDS = 32;
constexpr size_t RING_BYTES = 2 * 1024 * 1024;
constexpr size_t RING_HEADER_BYTES = 128;
constexpr int HANDED_PER_TURN = 256;
constexpr size_t TRANSPORT_HEADER_BYTES = 16;
constexpr size_t TRANSPORT_OVERHEAD_BYTES = 32;

// socket-contract.ts
constexpr int HOST_SOCKETS_MAX = 65536;
constexpr int SOCKET_ARENAS_MAX = 16;
constexpr int SOCKET_PIECES_MAX = 64;

// Directions of a room, and the largest one.
constexpr int ROOM_RECEIVE = 0;
constexpr int ROOM_SEND = 1;
constexpr int ROOM_MAX = 16777216;
constexpr int PIECE_WORDS = 5;
constexpr int PIECE_ARENA = 0;
constexpr int PIECE_OFFSET = 1;
constexpr int PIECE_LENGTH = 2;
constexpr int PIECE_SEGMENT = 3;
constexpr int PIECE_ERROR = 4;
constexpr int SOCKET_EVENT_WORDS = 3;
constexpr int SOCKET_EVENT_HANDLE = 0;
constexpr int SOCKET_EVENT_FLAGS = 1;
constexpr int SOCKET_EVENT_ERROR = 2;
constexpr int32_t SOCKET_READABLE = 1;
constexpr int32_t SOCKET_WRITABLE = 2;
constexpr int32_t SOCKET_CONNECTED = 4;
constexpr int32_t SOCKET_ENDED = 8;
constexpr int32_t SOCKET_FAILED = 16;
constexpr int32_t SOCKET_GONE = 32;
constexpr int SOCKET_ERROR_WORDS = 6;
constexpr int SOCKET_ERROR = 0;
constexpr int SOCKET_ERROR_ORIGIN = 1;
constexpr int SOCKET_ERROR_TYPE = 2;
constexpr int SOCKET_ERROR_CODE = 3;
constexpr int SOCKET_ERROR_MTU = 4;
constexpr int PAIR_END = 0;
constexpr int SOCKET_LOST = 5;
constexpr int32_t ORIGIN_LOCAL = 1;
constexpr int32_t ORIGIN_ICMP = 2;
constexpr int32_t ORIGIN_ICMP6 = 3;

// address.ts: an endpoint record.
struct EndpointRecord {
  uint16_t family;  // 0, 4 or 6
  uint16_t port;    // host order
  uint32_t scope;
  uint8_t address[16];
  uint8_t local[16];
  uint32_t interface;
  // Until when datagrams are sent one by one, in seconds of the monotonic clock; only the engine
  // uses it.
  uint32_t single_until;
  uint8_t unused[16];
};
static_assert(sizeof(EndpointRecord) == 64, "an endpoint record is 64 bytes");
static_assert(offsetof(EndpointRecord, local) == 24, "fields as in address.ts");
static_assert(offsetof(EndpointRecord, single_until) == 44, "fields as in address.ts");

// How many datagrams one UDP_SEGMENT train may have (UDP_MAX_SEGMENTS of older kernels), and how
// many bytes: what fits into one IPv4 datagram with room for IP options.
constexpr int TRAIN_DATAGRAMS = 64;
constexpr size_t TRAIN_BYTES = 65000;

}  // namespace postern

#endif
