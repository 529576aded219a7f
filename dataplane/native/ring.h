// The rings by which workers of one gateway hand packets and datagrams to each other: one for each
// ordered pair of workers, in memory that both share. One thread writes and one reads, so that two
// counters are all they must agree on.
//
// A record is a header, an endpoint and the bytes, at multiples of 64. Where the rest of the ring
// is too short for a record, a record without bytes fills it. dataplane/io/rings.ts is the twin.

#ifndef POSTERN_RING_H
#define POSTERN_RING_H

#include "contract.h"

namespace postern {

struct Engine;
struct Batch;

struct RingRecord {
  uint32_t bytes;  // of the whole record, a multiple of RECORD_ALIGNMENT
  int32_t kind;    // KIND_..., or KIND_FILLER
  uint32_t length;
  int32_t peer;
  int32_t generation;
  uint8_t unused[44];
  // The sender of a datagram. Of a packet: room for its virtio_net_hdr, which ends where it begins.
  EndpointRecord endpoint;
};
constexpr size_t RECORD_ALIGNMENT = 64;
constexpr int32_t KIND_FILLER = -1;
static_assert(sizeof(RingRecord) == 2 * RECORD_ALIGNMENT, "a packet begins at a cache line");

// The end of a ring that writes.
struct RingWriter {
  uint8_t* memory = nullptr;
  uint32_t written = 0;
  // How far the other end had read when this end looked last.
  uint32_t read = 0;
  bool has_news = false;
};

// The end of a ring that reads. Its records are the batch of `memory`.
struct RingReader {
  uint8_t* memory = nullptr;
  // How far the records that are in the batch reach.
  uint32_t taken = 0;
};

// Hands over what is marked MARK_HAND_OVER and wakes those who sleep; returns how many found no
// room.
int hand_over(Engine& engine, Batch& batch, int count);
// Describes records that `worker` wrote; returns how many.
int take_handed(Engine& engine, int worker);
// Gives the memory of what was taken back to the writer.
void free_handed(Engine& engine, int worker);
// Whether any other worker has written what was not taken.
bool has_handed(const Engine& engine);
// Forgets everything that was written for an engine before it began.
void empty_rings(Engine& engine);
// Says whether this worker sleeps, to those who would wake it.
void set_sleeping(Engine& engine, bool sleeps);

}  // namespace postern

#endif
