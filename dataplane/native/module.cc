// The door of the addon: turns JavaScript values into bytes and numbers and back, and checks them.
// Everything an engine needs hangs on the engine, nothing on the process, so that any number of
// workers may load the addon (Node-API, context-aware). index.ts describes each function.

#include <node_api.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "engine.h"
#include "primitives.h"
#include "system.h"

namespace {

using postern::Engine;

// ---- arguments and results ----

constexpr size_t ARGUMENTS_MAX = 8;

struct Call {
  napi_env env;
  napi_value values[ARGUMENTS_MAX];
  void* context = nullptr;
  bool failed = false;

  Call(napi_env environment, napi_callback_info info) : env(environment) {
    size_t count = ARGUMENTS_MAX;
    napi_get_cb_info(env, info, &count, values, nullptr, &context);
  }

  void refuse(const char* message) {
    if (failed) return;
    failed = true;
    napi_throw_type_error(env, nullptr, message);
  }

  double number(int i) {
    double value = 0;
    if (napi_get_value_double(env, values[i], &value) != napi_ok) refuse("a number is expected");
    return value;
  }

  int32_t integer(int i) {
    int32_t value = 0;
    if (napi_get_value_int32(env, values[i], &value) != napi_ok) refuse("a number is expected");
    return value;
  }

  bool boolean(int i) {
    bool value = false;
    if (napi_get_value_bool(env, values[i], &value) != napi_ok) refuse("a boolean is expected");
    return value;
  }

  bool is_null(int i) {
    napi_valuetype type = napi_undefined;
    napi_typeof(env, values[i], &type);
    return type == napi_null || type == napi_undefined;
  }
};

// The bytes of a Uint8Array.
struct Bytes {
  uint8_t* data = nullptr;
  size_t length = 0;
};

Bytes bytes_of(Call& call, int i) {
  Bytes bytes;
  napi_typedarray_type type;
  void* data = nullptr;
  if (napi_get_typedarray_info(call.env, call.values[i], &type, &bytes.length, &data, nullptr,
                               nullptr) != napi_ok ||
      type != napi_uint8_array) {
    call.refuse("a Uint8Array is expected");
    return {};
  }
  bytes.data = static_cast<uint8_t*>(data);
  return bytes;
}

Bytes bytes_of(Call& call, int i, size_t length) {
  const Bytes bytes = bytes_of(call, i);
  if (!call.failed && bytes.length != length) call.refuse("a Uint8Array of another length is expected");
  return bytes;
}

napi_value make_number(napi_env env, double value) {
  napi_value result;
  napi_create_double(env, value, &result);
  return result;
}

napi_value make_integer(napi_env env, int32_t value) {
  napi_value result;
  napi_create_int32(env, value, &result);
  return result;
}

napi_value make_boolean(napi_env env, bool value) {
  napi_value result;
  napi_get_boolean(env, value, &result);
  return result;
}

void set(napi_env env, napi_value object, const char* name, napi_value value) {
  napi_set_named_property(env, object, name, value);
}

const char* error_name(int error) {
  switch (error) {
    case EPERM: return "EPERM";
    case EACCES: return "EACCES";
    case ENOENT: return "ENOENT";
    case EBUSY: return "EBUSY";
    case EADDRINUSE: return "EADDRINUSE";
    case EAFNOSUPPORT: return "EAFNOSUPPORT";
    case ENODEV: return "ENODEV";
    case EINVAL: return "EINVAL";
    default: return "ESYSTEM";
  }
}

// Throws for a negative result, which is -errno; returns whether it did.
bool throws(Call& call, int result, const char* what) {
  if (result >= 0) return false;
  char message[160];
  snprintf(message, sizeof message, "%s: %s", what, strerror(-result));
  napi_throw_error(call.env, error_name(-result), message);
  return true;
}

void define(napi_env env, napi_value object, const char* name, napi_callback function,
            void* context) {
  napi_value value;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, function, context, &value);
  set(env, object, name, value);
}

// ---- system ----

bool name_of(Call& call, int i, char* name, size_t size) {
  size_t length = 0;
  // Node-API cuts a text that is too long, and the rest may be another interface's name.
  if (napi_get_value_string_utf8(call.env, call.values[i], nullptr, 0, &length) != napi_ok ||
      length == 0 || length >= size ||
      napi_get_value_string_utf8(call.env, call.values[i], name, size, &length) != napi_ok)
    call.refuse("an interface name of 1 to 15 characters is expected");
  return !call.failed;
}

napi_value open_tun(napi_env env, napi_callback_info info) {
  Call call(env, info);
  char name[16];
  const bool virtio_header = call.boolean(1);
  if (!name_of(call, 0, name, sizeof name) || call.failed) return nullptr;
  postern::TunFeatures features = {};
  const int fd = postern::open_tun(name, virtio_header, features);
  if (throws(call, fd, "opening the TUN")) return nullptr;
  napi_value result;
  napi_create_object(env, &result);
  set(env, result, "fd", make_integer(env, fd));
  set(env, result, "takesUdp", make_boolean(env, features.udp));
  return result;
}

napi_value set_link(napi_env env, napi_callback_info info) {
  Call call(env, info);
  char name[16];
  const int32_t mtu = call.integer(1);
  if (!name_of(call, 0, name, sizeof name) || call.failed) return nullptr;
  throws(call, postern::set_link(name, static_cast<uint32_t>(mtu)), "bringing the TUN up");
  return nullptr;
}

napi_value add_address(napi_env env, napi_callback_info info) {
  Call call(env, info);
  char name[16];
  const Bytes address = bytes_of(call, 1);
  const int32_t prefix_bits = call.integer(2);
  if (!call.failed && address.length != 4 && address.length != 16)
    call.refuse("an address of 4 or 16 bytes is expected");
  if (call.failed || !name_of(call, 0, name, sizeof name)) return nullptr;
  throws(call,
         postern::add_address(name, address.data, address.length,
                              static_cast<uint8_t>(prefix_bits)),
         "giving the TUN its address");
  return nullptr;
}

napi_value open_udp(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const bool is_ipv6 = call.boolean(0);
  const int32_t port = call.integer(1);
  if (call.failed) return nullptr;
  const int fd = postern::open_udp(is_ipv6, static_cast<uint16_t>(port));
  return throws(call, fd, "opening the UDP socket") ? nullptr : make_integer(env, fd);
}

napi_value bound_port(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int port = postern::bound_port(call.integer(0));
  if (call.failed || throws(call, port, "asking for the UDP port")) return nullptr;
  return make_integer(env, port);
}

napi_value open_wake(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return throws(call, fd < 0 ? -errno : fd, "opening an eventfd") ? nullptr
                                                                  : make_integer(env, fd);
}

napi_value open_pair(napi_env env, napi_callback_info info) {
  Call call(env, info);
  int fds[2];
  const int made = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds);
  if (throws(call, made < 0 ? -errno : 0, "opening a pair of sockets")) return nullptr;
  napi_value result;
  napi_create_array_with_length(env, 2, &result);
  napi_set_element(env, result, 0, make_integer(env, fds[0]));
  napi_set_element(env, result, 1, make_integer(env, fds[1]));
  return result;
}

napi_value wake(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int32_t fd = call.integer(0);
  const uint64_t one = 1;
  // A full counter means that it has been rung already.
  if (!call.failed && write(fd, &one, sizeof one) < 0 && errno != EAGAIN)
    throws(call, -errno, "waking the worker");
  return nullptr;
}

napi_value close_fd(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int32_t fd = call.integer(0);
  if (!call.failed) close(fd);
  return nullptr;
}

napi_value boot_time(napi_env env, napi_callback_info) {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return make_number(env, static_cast<double>(now.tv_sec) * 1000 +
                              static_cast<double>(now.tv_nsec) / 1e6);
}

// ---- primitives ----

napi_value public_key(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0, 32);
  const Bytes key = bytes_of(call, 1, 32);
  if (!call.failed && !postern::x25519_public(out.data, key.data))
    napi_throw_error(env, nullptr, "OpenSSL refused a private key");
  return nullptr;
}

napi_value shared_secret(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0, 32);
  const Bytes key = bytes_of(call, 1, 32);
  const Bytes other = bytes_of(call, 2, 32);
  if (call.failed) return nullptr;
  return make_boolean(env, postern::x25519_shared(out.data, key.data, other.data));
}

napi_value hash(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0, 32);
  const Bytes a = bytes_of(call, 1);
  const Bytes b = bytes_of(call, 2);
  if (!call.failed)
    postern::blake2s(out.data, 32, nullptr, 0, a.data, a.length, b.data, b.length);
  return nullptr;
}

napi_value mac(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0);
  const Bytes key = bytes_of(call, 1);
  const Bytes input = bytes_of(call, 2);
  if (!call.failed && (out.length == 0 || out.length > 32 || key.length > 32))
    call.refuse("a mac has 1 to 32 bytes, its key at most 32");
  if (!call.failed)
    postern::blake2s(out.data, out.length, key.data, key.length, input.data, input.length, nullptr,
                     0);
  return nullptr;
}

napi_value hkdf(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes ck = bytes_of(call, 0, 32);
  const Bytes input = bytes_of(call, 1);
  const Bytes out1 = bytes_of(call, 2, 32);
  const Bytes out2 = call.is_null(3) ? Bytes{} : bytes_of(call, 3, 32);
  const Bytes out3 = call.is_null(4) ? Bytes{} : bytes_of(call, 4, 32);
  if (!call.failed)
    postern::hkdf(ck.data, input.data, input.length, out1.data, out2.data, out3.data);
  return nullptr;
}

constexpr uint8_t ZERO_NONCE[12] = {0};

napi_value seal(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0);
  const Bytes key = bytes_of(call, 1, 32);
  const Bytes plaintext = bytes_of(call, 2);
  const Bytes ad = bytes_of(call, 3);
  if (!call.failed && out.length != plaintext.length + 16) call.refuse("out must hold text and tag");
  if (!call.failed && !postern::aead_seal(out.data, key.data, ZERO_NONCE, plaintext.data,
                                          plaintext.length, ad.data, ad.length))
    napi_throw_error(env, nullptr, "OpenSSL refused to seal");
  return nullptr;
}

napi_value open(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0);
  const Bytes key = bytes_of(call, 1, 32);
  const Bytes sealed = bytes_of(call, 2);
  const Bytes ad = bytes_of(call, 3);
  if (!call.failed && out.length + 16 != sealed.length) call.refuse("out must hold the text");
  if (call.failed) return nullptr;
  return make_boolean(env, postern::aead_open(out.data, key.data, ZERO_NONCE, sealed.data,
                                              sealed.length, ad.data, ad.length));
}

napi_value xseal(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0);
  const Bytes key = bytes_of(call, 1, 32);
  const Bytes nonce = bytes_of(call, 2, 24);
  const Bytes plaintext = bytes_of(call, 3);
  const Bytes ad = bytes_of(call, 4);
  if (!call.failed && out.length != plaintext.length + 16) call.refuse("out must hold text and tag");
  if (call.failed) return nullptr;
  uint8_t subkey[32];
  uint8_t subnonce[12];
  postern::xchacha_subkey(subkey, subnonce, key.data, nonce.data);
  if (!postern::aead_seal(out.data, subkey, subnonce, plaintext.data, plaintext.length, ad.data,
                          ad.length))
    napi_throw_error(env, nullptr, "OpenSSL refused to seal");
  return nullptr;
}

napi_value xopen(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0);
  const Bytes key = bytes_of(call, 1, 32);
  const Bytes nonce = bytes_of(call, 2, 24);
  const Bytes sealed = bytes_of(call, 3);
  const Bytes ad = bytes_of(call, 4);
  if (!call.failed && out.length + 16 != sealed.length) call.refuse("out must hold the text");
  if (call.failed) return nullptr;
  uint8_t subkey[32];
  uint8_t subnonce[12];
  postern::xchacha_subkey(subkey, subnonce, key.data, nonce.data);
  return make_boolean(env, postern::aead_open(out.data, subkey, subnonce, sealed.data,
                                              sealed.length, ad.data, ad.length));
}

// ---- the engine ----

// An engine and the ArrayBuffers whose memory it uses.
struct Holder {
  napi_env env;
  Engine* engine = nullptr;
  napi_ref buffers[6] = {};
  size_t buffer_count = 0;
};

void release(Holder* holder) {
  if (holder->engine == nullptr) return;
  delete holder->engine;
  holder->engine = nullptr;
  for (size_t i = 0; i < holder->buffer_count; i++)
    napi_delete_reference(holder->env, holder->buffers[i]);
}

// The environment ends: keys are wiped even when nobody closed the engine.
void clean_up(void* data) {
  auto* holder = static_cast<Holder*>(data);
  delete holder->engine;
  delete holder;
}

Engine* engine_of(Call& call) {
  Engine* engine = static_cast<Holder*>(call.context)->engine;
  if (engine == nullptr) call.refuse("the engine is closed");
  return engine;
}

// A batch by its number, and a count of descriptors that it really has.
bool batch_of(Call& call, Engine* engine, postern::Batch*& batch, int& count) {
  const int32_t which = call.integer(0);
  count = call.integer(1);
  if (call.failed) return false;
  batch = &engine->batch(which);
  if (count < 0 || count > batch->capacity) call.refuse("the batch has fewer descriptors");
  return !call.failed;
}

napi_value engine_poll(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  const double timeout_ms = call.number(0);
  return call.failed ? nullptr : make_integer(env, postern::poll_events(*engine, timeout_ms));
}

napi_value engine_receive(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  return call.failed ? nullptr : make_integer(env, postern::receive_datagrams(*engine));
}

napi_value engine_read_tun(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  if (call.failed) return nullptr;
  return make_integer(env, engine->tun < 0 ? 0 : postern::read_tun(*engine));
}

napi_value engine_open(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  postern::Batch* batch;
  int count;
  if (!call.failed && batch_of(call, engine, batch, count))
    postern::open_datagrams(*engine, *batch, count);
  return nullptr;
}

napi_value engine_seal(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  postern::Batch* batch;
  int count;
  if (!call.failed && batch_of(call, engine, batch, count))
    postern::seal_packets(*engine, *batch, count);
  return nullptr;
}

napi_value engine_write_tun(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  postern::Batch* batch;
  int count;
  if (!call.failed && batch_of(call, engine, batch, count) && engine->tun >= 0)
    postern::write_tun(*engine, *batch, count);
  return nullptr;
}

napi_value engine_send(napi_env env, napi_callback_info info) {
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
  uint8_t* out = postern::reserve_datagram(*engine, message.length);
  memcpy(out, message.data, message.length);
  postern::commit_datagram(*engine, static_cast<uint32_t>(endpoint), message.length);
  return nullptr;
}

napi_value engine_flush(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  if (!call.failed) postern::flush_datagrams(*engine);
  return nullptr;
}

// Slot and generation in one number: generation * 2^20 + slot; -1 when all slots are taken.
napi_value engine_install_key(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  const Bytes send = bytes_of(call, 0, postern::KEY_BYTES);
  const Bytes receive = bytes_of(call, 1, postern::KEY_BYTES);
  const int32_t remote_index = call.integer(2);
  if (call.failed) return nullptr;
  uint32_t generation = 0;
  const int slot = engine->keys.install(send.data, receive.data,
                                        static_cast<uint32_t>(remote_index), generation);
  return make_number(env, slot < 0 ? -1 : generation * 1048576.0 + slot);
}

napi_value engine_remove_key(napi_env env, napi_callback_info info) {
  Call call(env, info);
  Engine* engine = engine_of(call);
  const int32_t slot = call.integer(0);
  const int32_t generation = call.integer(1);
  if (!call.failed) engine->keys.remove(slot, generation);
  return nullptr;
}

napi_value engine_close(napi_env env, napi_callback_info info) {
  Call call(env, info);
  release(static_cast<Holder*>(call.context));
  return nullptr;
}

// ---- making an engine ----

struct Options {
  Call& call;
  napi_value object;
  Holder* holder;

  napi_value get(const char* name) {
    napi_value value = nullptr;
    napi_get_named_property(call.env, object, name, &value);
    return value;
  }

  double number(const char* name) {
    double value = 0;
    if (napi_get_value_double(call.env, get(name), &value) != napi_ok)
      call.refuse("the options of an engine lack a number");
    return value;
  }

  bool boolean(const char* name) {
    bool value = false;
    if (napi_get_value_bool(call.env, get(name), &value) != napi_ok)
      call.refuse("the options of an engine lack a boolean");
    return value;
  }

  // The memory of a typed array, which is kept alive until the engine is closed.
  void* memory(const char* name, napi_typedarray_type wanted, size_t minimum) {
    napi_typedarray_type type;
    size_t length = 0;
    void* data = nullptr;
    napi_value buffer = nullptr;
    if (napi_get_typedarray_info(call.env, get(name), &type, &length, &data, &buffer, nullptr) !=
            napi_ok ||
        type != wanted || length < minimum) {
      call.refuse("the options of an engine lack a typed array, or it is too short");
      return nullptr;
    }
    napi_create_reference(call.env, buffer, 1, &holder->buffers[holder->buffer_count++]);
    return data;
  }
};

bool read_options(Call& call, Holder* holder) {
  Options options{call, call.values[0], holder};
  Engine& engine = *holder->engine;
  engine.udp4 = static_cast<int>(options.number("udp4"));
  engine.udp6 = static_cast<int>(options.number("udp6"));
  engine.tun = static_cast<int>(options.number("tun"));
  engine.wake = static_cast<int>(options.number("wake"));
  engine.mtu = static_cast<size_t>(options.number("mtu"));
  engine.tun_takes_udp = options.boolean("tunTakesUdp");
  constexpr size_t ENDPOINT_BYTES = sizeof(postern::EndpointRecord);
  constexpr int DATAGRAMS = postern::DATAGRAM_SLOTS * postern::DATAGRAMS_PER_SLOT;
  engine.endpoint_count = static_cast<uint32_t>(options.number("endpointCount"));
  if (engine.endpoint_count < postern::DATAGRAM_SLOTS) call.refuse("too few endpoints");
  if (call.failed) return false;
  engine.datagrams.size = postern::DATAGRAM_SLOTS * postern::SLOT_BYTES;
  engine.datagrams.capacity = DATAGRAMS;
  engine.packets.size = postern::PACKET_SLOTS * postern::SLOT_BYTES;
  engine.packets.capacity = postern::PACKET_SLOTS;
  engine.packets.has_virtio_header = true;
  engine.datagrams.bytes = static_cast<uint8_t*>(
      options.memory("datagrams", napi_uint8_array, engine.datagrams.size));
  engine.datagrams.descriptors = static_cast<int32_t*>(options.memory(
      "datagramDescriptors", napi_int32_array, DATAGRAMS * postern::DESCRIPTOR_WORDS));
  engine.packets.bytes =
      static_cast<uint8_t*>(options.memory("packets", napi_uint8_array, engine.packets.size));
  engine.packets.descriptors = static_cast<int32_t*>(
      options.memory("packetDescriptors", napi_int32_array,
                     static_cast<size_t>(postern::PACKET_SLOTS) * postern::DESCRIPTOR_WORDS));
  engine.endpoints = static_cast<postern::EndpointRecord*>(
      options.memory("endpoints", napi_uint8_array, engine.endpoint_count * ENDPOINT_BYTES));
  engine.faults =
      static_cast<double*>(options.memory("faults", napi_float64_array, postern::FAULTS));
  return !call.failed;
}

napi_value create_engine(napi_env env, napi_callback_info info) {
  Call call(env, info);
  auto* holder = new Holder{env};
  holder->engine = new Engine;
  if (!read_options(call, holder)) {
    release(holder);
    delete holder;
    return nullptr;
  }
  napi_add_env_cleanup_hook(env, clean_up, holder);
  napi_value engine;
  napi_create_object(env, &engine);
  define(env, engine, "poll", engine_poll, holder);
  define(env, engine, "receive", engine_receive, holder);
  define(env, engine, "readTun", engine_read_tun, holder);
  define(env, engine, "open", engine_open, holder);
  define(env, engine, "seal", engine_seal, holder);
  define(env, engine, "writeTun", engine_write_tun, holder);
  define(env, engine, "send", engine_send, holder);
  define(env, engine, "flush", engine_flush, holder);
  define(env, engine, "installKey", engine_install_key, holder);
  define(env, engine, "removeKey", engine_remove_key, holder);
  define(env, engine, "close", engine_close, holder);
  return engine;
}

}  // namespace

NAPI_MODULE_INIT() {
  define(env, exports, "createEngine", create_engine, nullptr);
  define(env, exports, "openTun", open_tun, nullptr);
  define(env, exports, "setLink", set_link, nullptr);
  define(env, exports, "addAddress", add_address, nullptr);
  define(env, exports, "openUdp", open_udp, nullptr);
  define(env, exports, "boundPort", bound_port, nullptr);
  define(env, exports, "openWake", open_wake, nullptr);
  define(env, exports, "openPair", open_pair, nullptr);
  define(env, exports, "wake", wake, nullptr);
  define(env, exports, "closeFd", close_fd, nullptr);
  define(env, exports, "bootTime", boot_time, nullptr);
  define(env, exports, "publicKey", public_key, nullptr);
  define(env, exports, "sharedSecret", shared_secret, nullptr);
  define(env, exports, "hash", hash, nullptr);
  define(env, exports, "mac", mac, nullptr);
  define(env, exports, "hkdf", hkdf, nullptr);
  define(env, exports, "seal", seal, nullptr);
  define(env, exports, "open", open, nullptr);
  define(env, exports, "xseal", xseal, nullptr);
  define(env, exports, "xopen", xopen, nullptr);
  return exports;
}
