// Offers engines to JavaScript. Everything that an engine needs belongs to the engine and nothing
// to the process, so several workers can load the addon. index.ts describes each function.

#include <fcntl.h>

#include "engine.h"
#include "options.h"

namespace postern {

namespace {

// The options that contain the memory of an engine.
constexpr const char* BUFFER_NAMES[] = {"datagrams",         "datagramDescriptors", "packets",
                                        "packetDescriptors", "endpoints",           "errors"};
constexpr size_t BUFFERS = sizeof BUFFER_NAMES / sizeof *BUFFER_NAMES;
// Two rings with each other worker, the descriptors of what it handed over, and who sleeps.
constexpr size_t SHARED_BUFFERS = 3 * MAX_WORKERS + 1;

using EngineHolder = Holder<Engine>;
static_assert(BUFFERS + SHARED_BUFFERS <= HELD_MAX, "all memory of an engine is kept alive");

Engine* engine_of(Call& call) {
  Engine* engine = static_cast<EngineHolder*>(call.context)->held;
  if (engine == nullptr) call.refuse("the engine is closed");
  return engine;
}

// A batch by its number, and a count that is at most its number of descriptors.
bool batch_of(Call& call, Engine* engine, Batch*& batch, int& count) {
  const int32_t which = call.integer(0, 0, 1 + MAX_WORKERS);
  count = call.integer(1);
  if (call.failed) return false;
  batch = &engine->batch(which);
  if (count < 0 || count > batch->capacity) call.refuse("the batch has fewer descriptors");
  return !call.failed;
}

napi_value on_poll(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  const double timeout_ms = call.number(0);
  return call.failed ? nullptr : make_integer(env, poll_events(*engine, timeout_ms));
}

napi_value on_receive(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  return call.failed ? nullptr : make_integer(env, receive_datagrams(*engine));
}

napi_value on_read_tun(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  if (call.failed) return nullptr;
  return make_integer(env, engine->tun < 0 ? 0 : read_tun(*engine));
}

// The form of `open`, `seal` and `writeTun`: a batch and how many of its descriptors are used.
template <void (*operation)(Engine&, Batch&, int)>
napi_value on_batch(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  Batch* batch;
  int count;
  if (!call.failed && batch_of(call, engine, batch, count)) operation(*engine, *batch, count);
  return nullptr;
}

napi_value on_send(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  const Bytes message = bytes_of(call, 0);
  const int32_t endpoint = call.integer(1);
  if (call.failed) return nullptr;
  if (endpoint < 0 || static_cast<uint32_t>(endpoint) >= engine->endpoint_count ||
      message.length == 0 || message.length > 65507) {
    call.refuse("an endpoint and a message are expected");
    return nullptr;
  }
  uint8_t* out = reserve_datagram(*engine, message.length);
  memcpy(out, message.data, message.length);
  commit_datagram(*engine, static_cast<uint32_t>(endpoint), message.length);
  return nullptr;
}

napi_value on_flush(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  if (!call.failed) flush_datagrams(*engine);
  return nullptr;
}

napi_value on_send_room(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  if (call.failed) return nullptr;
  return make_integer(env, send_room(*engine));
}

constexpr double SLOTS_PER_GENERATION = 1048576;
static_assert(MAX_KEYPAIRS <= SLOTS_PER_GENERATION, "slot and generation share 53 bits");

// Returns slot and generation in one number: generation * 2^20 + slot; -1 when all slots are taken.
napi_value on_install_key(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  const Bytes send = bytes_of(call, 0, KEY_BYTES);
  const Bytes receive = bytes_of(call, 1, KEY_BYTES);
  const uint32_t remote_index = call.word(2);
  if (call.failed) return nullptr;
  uint32_t generation = 0;
  const int slot = engine->keys.install(send.data, receive.data, remote_index, generation);
  return make_number(env, slot < 0 ? -1 : generation * SLOTS_PER_GENERATION + slot);
}

napi_value on_remove_key(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  const int32_t slot = call.integer(0);
  const int32_t generation = call.integer(1);
  if (!call.failed) engine->remove_key(slot, generation);
  return nullptr;
}

napi_value on_hand_over(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  Batch* batch;
  int count;
  if (call.failed || !batch_of(call, engine, batch, count)) return nullptr;
  return make_integer(env, hand_over(*engine, *batch, count));
}

napi_value on_take_handed(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  const int32_t worker = call.integer(0, 0, MAX_WORKERS - 1);
  return call.failed ? nullptr : make_integer(env, take_handed(*engine, worker));
}

napi_value on_free_handed(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  const int32_t worker = call.integer(0, 0, MAX_WORKERS - 1);
  if (!call.failed) free_handed(*engine, worker);
  return nullptr;
}

napi_value on_close(napi_env env, napi_callback_info info) {
  Call call(env, info);
  static_cast<EngineHolder*>(call.context)->release();
  return nullptr;
}

// ---- making an engine ----

// What an engine shares with one other worker.
struct Other {
  int worker;
  int wake;
  napi_value in;
  napi_value out;
  napi_value descriptors;
};

Other read_other(Options& options, const Engine& engine) {
  Other other = {};
  other.worker = options.integer("worker", 0, engine.workers - 1);
  other.wake = options.integer("wake", -1, INT32_MAX);
  other.in = options.get("in");
  other.out = options.get("out");
  other.descriptors = options.get("descriptors");
  if (!options.is_fixed(other.in, true) || !options.is_fixed(other.out, true) ||
      !options.is_fixed(other.descriptors, false))
    options.call.refuse("the options of an engine lack a ring, or its memory may change");
  if (other.worker == engine.self) options.call.refuse("a worker has no ring with itself");
  return other;
}

void use_other(Options& options, Engine& engine, const Other& other) {
  constexpr size_t RING = RING_HEADER_BYTES + RING_BYTES;
  auto* in = static_cast<uint8_t*>(options.memory(other.in, napi_uint8_array, RING));
  auto* out = static_cast<uint8_t*>(options.memory(other.out, napi_uint8_array, RING));
  auto* descriptors = static_cast<int32_t*>(
      options.memory(other.descriptors, napi_int32_array,
                     static_cast<size_t>(HANDED_PER_TURN) * DESCRIPTOR_WORDS));
  if (options.call.failed) return;
  engine.readers[other.worker].memory = in;
  engine.writers[other.worker].memory = out;
  engine.wakes[other.worker] = other.wake;
  Batch& batch = engine.handed[other.worker];
  batch.bytes = in;
  batch.size = RING;
  batch.capacity = HANDED_PER_TURN;
  batch.has_virtio_header = true;
  batch.descriptors = descriptors;
}

// The rings with the other workers; `workers` is 1 where there are none.
bool read_others(Options& options, Engine& engine) {
  Call& call = options.call;
  engine.workers = options.integer("workers", 1, MAX_WORKERS);
  engine.self = options.integer("self", 0, engine.workers - 1);
  engine.handed_endpoints = static_cast<uint32_t>(options.integer("handedEndpoints", 0, INT32_MAX));
  if (call.failed || engine.workers == 1) return !call.failed;
  if (engine.handed_endpoints + static_cast<uint32_t>(MAX_WORKERS * HANDED_PER_TURN) >
      engine.endpoint_count)
    call.refuse("the table of endpoints has no room for what is handed over");
  // First everything that may run JavaScript; then the pointers.
  Other others[MAX_WORKERS];
  const int count = engine.workers - 1;
  const napi_value list = options.get("others");
  const napi_value sleeping = options.get("sleeping");
  for (int i = 0; i < count && !call.failed; i++) {
    Options one{call, nullptr, options.held};
    napi_get_element(call.env, list, static_cast<uint32_t>(i), &one.object);
    others[i] = read_other(one, engine);
  }
  if (!call.failed && !options.is_fixed(sleeping, true))
    call.refuse("the options of an engine lack the memory of who sleeps");
  if (call.failed) return false;
  for (int i = 0; i < count; i++) use_other(options, engine, others[i]);
  engine.sleeping = static_cast<int32_t*>(options.memory(
      sleeping, napi_int32_array, static_cast<size_t>(engine.workers) * SLEEPING_WORDS));
  if (call.failed) return false;
  empty_rings(engine);
  return true;
}

bool read_options(Call& call, EngineHolder* holder) {
  Options options{call, call.values[0], holder->memory};
  Engine& engine = *holder->held;
  engine.udp4 = options.integer("udp4", -1, INT32_MAX);
  engine.udp6 = options.integer("udp6", -1, INT32_MAX);
  engine.tun = options.integer("tun", -1, INT32_MAX);
  engine.wake = options.integer("wake", -1, INT32_MAX);
  const int sockets = options.has("sockets") ? options.integer("sockets", -1, INT32_MAX) : -1;
  engine.mtu = static_cast<size_t>(options.integer("mtu", 1, 65535));
  engine.rekey_after_messages = options.messages("rekeyAfterMessages", REKEY_AFTER_MESSAGES);
  engine.reject_after_messages = options.messages("rejectAfterMessages", REJECT_AFTER_MESSAGES);
  engine.tun_takes_udp = options.boolean("tunTakesUdp");
  constexpr size_t ENDPOINT_BYTES = sizeof(EndpointRecord);
  constexpr int DATAGRAMS = DATAGRAM_SLOTS * DATAGRAMS_PER_SLOT;
  engine.endpoint_count = static_cast<uint32_t>(
      options.integer("endpointCount", DATAGRAM_SLOTS, INT32_MAX / sizeof(EndpointRecord)));
  if (call.failed) return false;
  engine.datagrams.size = DATAGRAM_SLOTS * SLOT_BYTES;
  engine.datagrams.capacity = DATAGRAMS;
  engine.packets.size = PACKET_SLOTS * SLOT_BYTES;
  engine.packets.capacity = PACKET_SLOTS;
  engine.packets.has_virtio_header = true;
  // First everything that may run JavaScript, because that could detach memory; then the pointers.
  napi_value arrays[BUFFERS];
  for (size_t i = 0; i < BUFFERS; i++) {
    arrays[i] = options.get(BUFFER_NAMES[i]);
    if (!options.is_fixed(arrays[i], false))
      call.refuse("the options of an engine lack a typed array, or its memory may change");
  }
  if (call.failed) return false;
  engine.datagrams.bytes =
      static_cast<uint8_t*>(options.memory(arrays[0], napi_uint8_array, engine.datagrams.size));
  engine.datagrams.descriptors = static_cast<int32_t*>(
      options.memory(arrays[1], napi_int32_array, DATAGRAMS * DESCRIPTOR_WORDS));
  engine.packets.bytes =
      static_cast<uint8_t*>(options.memory(arrays[2], napi_uint8_array, engine.packets.size));
  engine.packets.descriptors = static_cast<int32_t*>(options.memory(
      arrays[3], napi_int32_array, static_cast<size_t>(PACKET_SLOTS) * DESCRIPTOR_WORDS));
  engine.endpoints = static_cast<EndpointRecord*>(
      options.memory(arrays[4], napi_uint8_array, engine.endpoint_count * ENDPOINT_BYTES));
  engine.errors = static_cast<double*>(options.memory(arrays[5], napi_float64_array, ERRORS));
  if (sockets >= 0) engine.sockets = fcntl(sockets, F_DUPFD_CLOEXEC, 0);
  if (sockets >= 0 && engine.sockets < 0) call.refuse("the descriptor of the sockets is not open");
  return !call.failed && read_others(options, engine);
}

napi_value on_create_engine(napi_env env, napi_callback_info info) {
  Call call(env, info);
  auto* holder = new EngineHolder{env};
  holder->held = new Engine;
  if (!holder->held->aead.is_ready())
    call.refuse("OpenSSL gives no ChaCha20-Poly1305 here: its configuration, FIPS say, forbids it");
  if (call.failed || !read_options(call, holder)) {
    holder->release();
    delete holder;
    return nullptr;
  }
  napi_add_env_cleanup_hook(env, EngineHolder::clean_up, holder);
  napi_value engine = nullptr;
  napi_create_object(env, &engine);
  define(env, engine, "poll", on_poll, holder);
  define(env, engine, "receive", on_receive, holder);
  define(env, engine, "readTun", on_read_tun, holder);
  define(env, engine, "open", on_batch<open_datagrams>, holder);
  define(env, engine, "seal", on_batch<seal_packets>, holder);
  define(env, engine, "writeTun", on_batch<write_tun>, holder);
  define(env, engine, "handOver", on_hand_over, holder);
  define(env, engine, "takeHanded", on_take_handed, holder);
  define(env, engine, "freeHanded", on_free_handed, holder);
  define(env, engine, "send", on_send, holder);
  define(env, engine, "flush", on_flush, holder);
  define(env, engine, "sendRoom", on_send_room, holder);
  define(env, engine, "installKey", on_install_key, holder);
  define(env, engine, "removeKey", on_remove_key, holder);
  define(env, engine, "close", on_close, holder);
  return engine;
}

}  // namespace

void define_engine(napi_env env, napi_value exports) {
  define(env, exports, "createEngine", on_create_engine, nullptr);
}

}  // namespace postern
