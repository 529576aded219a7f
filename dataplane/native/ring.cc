// Hands packets and datagrams to other workers, and takes theirs; ring.h says how.

#include "ring.h"

#include <unistd.h>

#include "engine.h"
#include "virtio.h"

namespace postern {

namespace {

// Bytes after which a batch is full, so that it stays in the cache between its steps.
constexpr size_t BATCH_BYTES = 512 * 1024;
// `seal` writes padding after a packet for a moment.
constexpr size_t SLACK_BYTES = PADDING_BYTES;

uint32_t& written_of(uint8_t* memory) { return *reinterpret_cast<uint32_t*>(memory); }
uint32_t& read_of(uint8_t* memory) {
  return *reinterpret_cast<uint32_t*>(memory + RING_HEADER_BYTES / 2);
}
uint32_t load(const uint32_t& counter) { return __atomic_load_n(&counter, __ATOMIC_ACQUIRE); }
void store(uint32_t& counter, uint32_t value) {
  __atomic_store_n(&counter, value, __ATOMIC_RELEASE);
}

RingRecord& record_at(uint8_t* memory, uint32_t at) {
  return *reinterpret_cast<RingRecord*>(memory + RING_HEADER_BYTES + at % RING_BYTES);
}

// Memory for a record of `bytes` in one piece; null when there is no room.
RingRecord* reserve(RingWriter& ring, uint32_t bytes) {
  const uint32_t rest = static_cast<uint32_t>(RING_BYTES - ring.written % RING_BYTES);
  const uint32_t filler = rest < bytes ? rest : 0;
  const auto has_room = [&] { return ring.written - ring.read + filler + bytes <= RING_BYTES; };
  if (!has_room()) {
    ring.read = load(read_of(ring.memory));
    if (!has_room()) return nullptr;
  }
  if (filler > 0) {
    RingRecord& record = record_at(ring.memory, ring.written);
    // The filler may be shorter than a record, but not than these fields.
    record.bytes = filler;
    record.kind = KIND_FILLER;
    ring.written += filler;
  }
  return &record_at(ring.memory, ring.written);
}

// Writes the record of one descriptor; false when there is no room, or it is no proper one.
bool write_record(Engine& engine, const Batch& batch, const int32_t* d) {
  const int32_t worker = d[WORKER];
  if (worker < 0 || worker >= engine.workers || engine.writers[worker].memory == nullptr)
    return false;
  const int32_t kind = d[KIND];
  const bool is_packet = kind == KIND_FROM_TUN || kind == KIND_FROM_PEER;
  const int64_t before = kind == KIND_FROM_TUN ? VIRTIO_HEADER_BYTES : 0;
  if (d[LENGTH] > 65536 || !batch.holds(d[OFFSET], d[LENGTH], before)) return false;
  if (!is_packet && (d[ADDRESS] < 0 || static_cast<uint32_t>(d[ADDRESS]) >= engine.endpoint_count))
    return false;
  const size_t length = static_cast<size_t>(d[LENGTH]);
  const size_t used = sizeof(RingRecord) + length + SLACK_BYTES;
  const auto bytes = static_cast<uint32_t>((used + RECORD_ALIGNMENT - 1) & ~(RECORD_ALIGNMENT - 1));
  RingWriter& ring = engine.writers[worker];
  RingRecord* record = reserve(ring, bytes);
  if (record == nullptr) return false;
  record->bytes = bytes;
  record->kind = kind;
  record->length = static_cast<uint32_t>(length);
  record->peer = d[KEY];
  record->generation = d[GENERATION];
  uint8_t* start = reinterpret_cast<uint8_t*>(record + 1);
  const uint8_t* packet = batch.bytes + d[OFFSET];
  if (!is_packet)
    record->endpoint = engine.endpoints[d[ADDRESS]];
  else if (kind == KIND_FROM_TUN)
    memcpy(start - VIRTIO_HEADER_BYTES, packet - VIRTIO_HEADER_BYTES, VIRTIO_HEADER_BYTES);
  else
    memset(start - VIRTIO_HEADER_BYTES, 0, VIRTIO_HEADER_BYTES);
  memcpy(start, packet, length);
  ring.written += bytes;
  ring.has_news = true;
  return true;
}

// Shows the reader what was written, and wakes it if it sleeps.
void publish(Engine& engine, int worker) {
  RingWriter& ring = engine.writers[worker];
  ring.has_news = false;
  store(written_of(ring.memory), ring.written);
  // The reader first says that it sleeps and then looks at the ring. Here it is the other way
  // round, so one of the two sees what the other did.
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (__atomic_load_n(engine.sleeping + worker * SLEEPING_WORDS, __ATOMIC_RELAXED) == 0) return;
  const uint64_t one = 1;
  // A full counter means that the worker was woken already.
  if (write(engine.wakes[worker], &one, sizeof one) < 0) return;
}

}  // namespace

int hand_over(Engine& engine, Batch& batch, int count) {
  int lost = 0;
  for (int i = 0; i < count; i++) {
    int32_t* d = batch.descriptor(i);
    if (d[MARK] != MARK_HAND_OVER) continue;
    d[MARK] = MARK_DROP;
    if (!write_record(engine, batch, d)) lost++;
  }
  for (int worker = 0; worker < engine.workers; worker++)
    if (engine.writers[worker].has_news) publish(engine, worker);
  return lost;
}

// How far the writer has come. The memory is shared with JavaScript, so nothing in it is believed:
// a position inside of a record would lead past the end of the ring.
static uint32_t written_for(const RingReader& ring) {
  return load(written_of(ring.memory)) & ~static_cast<uint32_t>(RECORD_ALIGNMENT - 1);
}

int take_handed(Engine& engine, int worker) {
  RingReader& ring = engine.readers[worker];
  if (ring.memory == nullptr) return 0;
  Batch& batch = engine.handed[worker];
  const uint32_t written = written_for(ring);
  int count = 0;
  size_t total = 0;
  size_t packet_bytes = 0;
  while (ring.taken != written && count < batch.capacity && total < BATCH_BYTES) {
    const RingRecord& record = record_at(ring.memory, ring.taken);
    const uint32_t at = static_cast<uint32_t>(ring.taken % RING_BYTES);
    const uint32_t bytes = record.bytes;
    const uint32_t length = record.length;
    if (bytes == 0 || bytes % RECORD_ALIGNMENT != 0 || bytes > written - ring.taken ||
        bytes > RING_BYTES - at) {
      ring.taken = written;
      break;
    }
    ring.taken += bytes;
    if (record.kind == KIND_FILLER || bytes < sizeof(RingRecord) + SLACK_BYTES) continue;
    if (length > bytes - sizeof(RingRecord) - SLACK_BYTES) continue;
    int32_t* d = batch.descriptor(count);
    d[OFFSET] = static_cast<int32_t>(RING_HEADER_BYTES + at + sizeof(RingRecord));
    d[LENGTH] = static_cast<int32_t>(length);
    d[KEY] = record.peer;
    d[GENERATION] = record.generation;
    d[MARK] = MARK_DROP;
    d[KIND] = record.kind;
    d[WORKER] = worker;
    // A datagram has its endpoint in a slot of its own, as one that was received.
    d[ADDRESS] = static_cast<int32_t>(engine.handed_endpoints) + worker * HANDED_PER_TURN + count;
    engine.endpoints[d[ADDRESS]] = record.endpoint;
    total += bytes;
    packet_bytes += length;
    count++;
  }
  engine.coalescer.count(count, packet_bytes);
  return count;
}

void free_handed(Engine& engine, int worker) {
  const RingReader& ring = engine.readers[worker];
  if (ring.memory != nullptr) store(read_of(ring.memory), ring.taken);
}

bool has_handed(const Engine& engine) {
  for (int worker = 0; worker < engine.workers; worker++) {
    const RingReader& ring = engine.readers[worker];
    if (ring.memory != nullptr && written_for(ring) != ring.taken) return true;
  }
  return false;
}

void empty_rings(Engine& engine) {
  for (int worker = 0; worker < engine.workers; worker++) {
    RingReader& reader = engine.readers[worker];
    if (reader.memory != nullptr) {
      reader.taken = written_for(reader);
      free_handed(engine, worker);
    }
    RingWriter& writer = engine.writers[worker];
    if (writer.memory != nullptr) {
      writer.written = load(written_of(writer.memory));
      writer.read = load(read_of(writer.memory));
    }
  }
}

void set_sleeping(Engine& engine, bool sleeps) {
  if (engine.workers == 1) return;
  int32_t* own = engine.sleeping + engine.self * SLEEPING_WORDS;
  __atomic_store_n(own, sleeps ? 1 : 0, __ATOMIC_RELAXED);
  if (sleeps) __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

}  // namespace postern
