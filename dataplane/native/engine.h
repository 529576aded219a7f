// One engine: the arenas that TypeScript gave it, its file descriptors, the keys, and the queue of
// datagrams to send. It belongs to one thread. Every descriptor is checked before it is used: a
// wrong one is refused and never leads to a read outside the arena.

#ifndef POSTERN_ENGINE_H
#define POSTERN_ENGINE_H

#include <cstring>

#include "aead.h"
#include "coalesce.h"
#include "contract.h"
#include "ring.h"

namespace postern {

// An arena and its descriptors. Both are memory of ArrayBuffers that the engine keeps alive.
struct Batch {
  uint8_t* bytes = nullptr;
  size_t size = 0;
  int32_t* descriptors = nullptr;
  int capacity = 0;
  bool has_virtio_header = false;

  int32_t* descriptor(int i) { return descriptors + static_cast<size_t>(i) * DESCRIPTOR_WORDS; }

  // Whether `length` bytes at `offset`, with `before` bytes before them, are inside the arena.
  bool holds(int64_t offset, int64_t length, int64_t before = 0) const {
    return offset >= before && length >= 0 && offset <= static_cast<int64_t>(size) &&
           length <= static_cast<int64_t>(size) - offset;
  }
};

// The keys of one keypair. A handle with an older generation than that of the slot is refused.
struct KeySlot {
  uint8_t send[KEY_BYTES];
  uint8_t receive[KEY_BYTES];
  uint64_t send_counter;
  uint32_t generation;
  uint32_t remote_index;
  bool in_use;
  // A number for these keys and no others, for the cipher context that remembers a key.
  uint64_t owner;
};

class KeyTable {
 public:
  KeyTable();
  ~KeyTable();
  KeyTable(const KeyTable&) = delete;
  KeyTable& operator=(const KeyTable&) = delete;

  // Returns the slot and its generation, -1 when all are taken.
  int install(const uint8_t* send, const uint8_t* receive, uint32_t remote_index,
              uint32_t& generation);
  // Wipes a key; returns its owner, 0 when it is gone already.
  uint64_t remove(int32_t slot, int32_t generation);
  // Null when there is no such slot, or when it has another generation.
  KeySlot* find(int32_t slot, int32_t generation);
  void wipe();

 private:
  KeySlot* slots_;
  uint32_t* free_;
  uint32_t free_count_ = 0;
  uint32_t used_ = 0;
};

// Datagrams for one endpoint in one system call: equal in size; the last may be shorter.
struct Train {
  size_t offset;
  size_t bytes;
  uint32_t endpoint;
  uint16_t datagram_bytes;
  uint16_t datagrams;
  bool closed;
};

struct Engine {
  int udp4 = -1;
  int udp6 = -1;
  // What the last poll said of both sockets; a socket that is not readable is not read.
  bool udp4_readable = true;
  bool udp6_readable = true;
  int tun = -1;
  int wake = -1;
  // A duplicate of the epoll descriptor of the host's sockets (sockets.h), so that it names nothing
  // else when those are closed first.
  int sockets = -1;
  bool tun_gone = false;
  bool tun_gone_reported = false;
  bool tun_takes_udp = false;
  bool udp_segments = true;
  size_t mtu = 1420;
  // At most those of the paper; see MessageLimits in contract.ts.
  uint64_t rekey_after_messages = REKEY_AFTER_MESSAGES;
  uint64_t reject_after_messages = REJECT_AFTER_MESSAGES;
  int receive_limit = DATAGRAM_SLOTS;
  Coalescer coalescer;

  Batch datagrams;
  Batch packets;
  EndpointRecord* endpoints = nullptr;
  uint32_t endpoint_count = 0;
  double* errors = nullptr;

  KeyTable keys;
  Aead aead;

  // Sealed datagrams that wait for `flush`.
  static constexpr size_t QUEUE_BYTES = 1024 * 1024;
  static constexpr int QUEUE_TRAINS = 256;
  uint8_t* queue = nullptr;
  size_t queue_used = 0;
  Train trains[QUEUE_TRAINS];
  int train_count = 0;

  // The workers of the gateway, this one included; ring.h.
  int workers = 1;
  int self = 0;
  RingWriter writers[MAX_WORKERS];
  RingReader readers[MAX_WORKERS];
  Batch handed[MAX_WORKERS];
  int wakes[MAX_WORKERS];
  int32_t* sleeping = nullptr;
  // The first endpoint slot of what was handed over.
  uint32_t handed_endpoints = 0;

  Engine();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // 0: datagrams, 1: packets, from 2 on: what worker 0 and so on handed over.
  Batch& batch(int which) {
    return which == 0 ? datagrams : which == 1 ? packets : handed[which - 2];
  }
  void error(int which) { errors[which] += 1; }
  // Wipes a key in the table and in the contexts.
  void remove_key(int32_t slot, int32_t generation);
  // Wipes the contexts and all keys.
  void wipe();
};

// poll.cc: waits for an event, at most timeout_ms (negative: without limit). Returns EVENT_ bits.
int poll_events(Engine& engine, double timeout_ms);

// receive.cc: fills `datagrams`; returns the descriptors in use.
int receive_datagrams(Engine& engine);
// receive.cc: opens what is marked MARK_OPEN.
void open_datagrams(Engine& engine, Batch& batch, int count);

// seal.cc: seals what is marked MARK_SEAL and queues it.
void seal_packets(Engine& engine, Batch& batch, int count);

// send.cc: memory for a datagram of `length` bytes, after a flush if necessary; null when it is too
// long.
uint8_t* reserve_datagram(Engine& engine, size_t length);
// send.cc: queues the datagram that was written into that memory.
void commit_datagram(Engine& engine, uint32_t endpoint, size_t length);
// send.cc: sends everything that is queued.
void flush_datagrams(Engine& engine);
// send.cc: how many bytes the UDP socket with the fuller buffer takes before it is full.
int32_t send_room(const Engine& engine);

// tun.cc: fills `packets`; returns the descriptors in use.
int read_tun(Engine& engine);
// write_tun.cc: writes what is marked MARK_TUN, joined where that is allowed.
void write_tun(Engine& engine, Batch& batch, int count);

}  // namespace postern

#endif
