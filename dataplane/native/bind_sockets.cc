// Offers the host's sockets and the kernel's routes to JavaScript. Each table belongs to whoever
// made it. Refusals of the kernel are returned as -errno, because they are facts about a host;
// socket-contract.ts describes each function.

#include <linux/rtnetlink.h>

#include "options.h"
#include "sockets.h"
#include "system.h"

namespace postern {

namespace {

using SocketTableHolder = Holder<SocketTable>;

SocketTable* table_of(Call& call) {
  SocketTable* table = static_cast<SocketTableHolder*>(call.context)->held;
  if (table == nullptr) call.refuse("the sockets are closed");
  return table;
}

Bytes address_of(Call& call, int i) {
  const Bytes address = bytes_of(call, i);
  if (!call.failed && address.length != 4 && address.length != 16)
    call.refuse("an address of 4 or 16 bytes is expected");
  return address;
}

template <int32_t (*operation)(SocketTable&, const uint8_t*, size_t, uint16_t, int)>
napi_value on_connect(napi_env env, napi_callback_info info) {
  Call call(env, info);
  SocketTable* table = table_of(call);
  const Bytes address = address_of(call, 0);
  const int32_t port = call.integer(1, 1, 65535);
  const int32_t room = call.integer(2, 0, ROOM_MAX);
  if (call.failed) return nullptr;
  return make_integer(
      env, operation(*table, address.data, address.length, static_cast<uint16_t>(port), room));
}

napi_value on_set_room(napi_env env, napi_callback_info info) {
  Call call(env, info);
  SocketTable* table = table_of(call);
  const int32_t handle = call.integer(0);
  const int32_t direction = call.integer(1, ROOM_RECEIVE, ROOM_SEND);
  const int32_t bytes = call.integer(2, 1, ROOM_MAX);
  if (call.failed) return nullptr;
  return make_integer(env, set_stream_room(*table, handle, direction == ROOM_SEND, bytes));
}

napi_value on_open_pair(napi_env env, napi_callback_info info) {
  Call call(env, info);
  SocketTable* table = table_of(call);
  const int32_t room = call.integer(0, 0, ROOM_MAX);
  return call.failed ? nullptr : make_integer(env, open_pair(*table, room));
}

napi_value on_open_echo(napi_env env, napi_callback_info info) {
  Call call(env, info);
  SocketTable* table = table_of(call);
  const Bytes address = address_of(call, 0);
  return call.failed ? nullptr : make_integer(env, open_echo(*table, address.data, address.length));
}

napi_value on_take_events(napi_env env, napi_callback_info info) {
  Call call(env, info);
  SocketTable* table = table_of(call);
  return call.failed ? nullptr : make_integer(env, take_socket_events(*table));
}

// The form of what moves bytes: a handle and how many pieces are used.
template <int (*operation)(SocketTable&, int32_t, int)>
napi_value on_pieces(napi_env env, napi_callback_info info) {
  Call call(env, info);
  SocketTable* table = table_of(call);
  const int32_t handle = call.integer(0);
  const int32_t count = call.integer(1, 1, SOCKET_PIECES_MAX);
  return call.failed ? nullptr : make_integer(env, operation(*table, handle, count));
}

template <int (*operation)(SocketTable&, int32_t)>
napi_value on_handle(napi_env env, napi_callback_info info) {
  Call call(env, info);
  SocketTable* table = table_of(call);
  const int32_t handle = call.integer(0);
  return call.failed ? nullptr : make_integer(env, operation(*table, handle));
}

napi_value on_verify(napi_env env, napi_callback_info info) {
  Call call(env, info);
  SocketTable* table = table_of(call);
  const int32_t count = call.integer(0, 1, SOCKET_PIECES_MAX);
  if (!call.failed) verify_packets(*table, count);
  return nullptr;
}

template <bool resets>
int close_by_handle(SocketTable& table, int32_t handle) {
  return close_socket(table, handle, resets);
}

napi_value on_count(napi_env env, napi_callback_info info) {
  Call call(env, info);
  SocketTable* table = table_of(call);
  return call.failed ? nullptr : make_integer(env, table->open);
}

napi_value on_close_all(napi_env env, napi_callback_info info) {
  Call call(env, info);
  static_cast<SocketTableHolder*>(call.context)->release();
  return nullptr;
}

// ---- making a table ----

// A name of an interface, empty where there is none.
void name_of(Call& call, napi_value value, char (&name)[IFNAMSIZ]) {
  size_t length = 0;
  if (napi_get_value_string_utf8(call.env, value, nullptr, 0, &length) != napi_ok ||
      length >= IFNAMSIZ ||
      napi_get_value_string_utf8(call.env, value, name, IFNAMSIZ, &length) != napi_ok ||
      strlen(name) != length)
    call.refuse("an interface name of up to 15 characters is expected");
}

// The memory that pieces may be in.
void read_arenas(Options& options, SocketTable& table) {
  Call& call = options.call;
  napi_value list = options.get("arenas");
  uint32_t count = 0;
  if (napi_get_array_length(call.env, list, &count) != napi_ok || count == 0 ||
      count > SOCKET_ARENAS_MAX)
    return call.refuse("the options lack a list of arenas, or it is too long");
  // First everything that may run JavaScript, because that could detach memory; then the pointers.
  napi_value arrays[SOCKET_ARENAS_MAX];
  for (uint32_t i = 0; i < count; i++) {
    napi_get_element(call.env, list, i, &arrays[i]);
    if (!options.is_fixed(arrays[i], false) && !options.is_fixed(arrays[i], true))
      return call.refuse("the options lack an arena, or its memory may change");
  }
  for (uint32_t i = 0; i < count && !call.failed; i++) {
    Arena& arena = table.arenas[i];
    arena.bytes =
        static_cast<uint8_t*>(options.memory(arrays[i], napi_uint8_array, 1, &arena.size));
  }
  table.arena_count = static_cast<int>(count);
}

bool read_options(Options& options, SocketTable& table) {
  Call& call = options.call;
  name_of(call, options.get("interfaceName"), table.interface_name);
  const char* names[] = {"pieces", "events", "error"};
  napi_value arrays[3];
  for (size_t i = 0; i < 3; i++) {
    arrays[i] = options.get(names[i]);
    if (!options.is_fixed(arrays[i], false))
      call.refuse("the options lack a typed array, or its memory may change");
  }
  if (!call.failed) read_arenas(options, table);
  if (call.failed) return false;
  size_t numbers = 0;
  constexpr size_t PIECES = static_cast<size_t>(SOCKET_PIECES_MAX) * PIECE_WORDS;
  table.pieces = static_cast<int32_t*>(options.memory(arrays[0], napi_int32_array, PIECES));
  table.piece_count = SOCKET_PIECES_MAX;
  table.events = static_cast<int32_t*>(
      options.memory(arrays[1], napi_int32_array, SOCKET_EVENT_WORDS, &numbers));
  table.event_count = static_cast<int>(numbers / SOCKET_EVENT_WORDS);
  table.error =
      static_cast<int32_t*>(options.memory(arrays[2], napi_int32_array, SOCKET_ERROR_WORDS));
  return !call.failed;
}

napi_value on_create_sockets(napi_env env, napi_callback_info info) {
  Call call(env, info);
  auto* holder = new SocketTableHolder{env};
  Options options{call, call.values[0], holder->memory};
  const int32_t capacity = options.integer("capacity", 1, HOST_SOCKETS_MAX);
  if (!call.failed) holder->held = new SocketTable(capacity);
  if (!call.failed && read_options(options, *holder->held) &&
      throws(call, holder->held->epoll, "opening the events of sockets"))
    call.failed = true;
  if (call.failed) {
    holder->release();
    delete holder;
    return nullptr;
  }
  napi_add_env_cleanup_hook(env, SocketTableHolder::clean_up, holder);
  napi_value sockets = nullptr;
  napi_create_object(env, &sockets);
  set(env, sockets, "descriptor", make_integer(env, holder->held->epoll));
  define(env, sockets, "connectTcp", on_connect<connect_tcp>, holder);
  define(env, sockets, "connectUdp", on_connect<connect_udp>, holder);
  define(env, sockets, "openPair", on_open_pair, holder);
  define(env, sockets, "openEcho", on_open_echo, holder);
  define(env, sockets, "takeEvents", on_take_events, holder);
  define(env, sockets, "read", on_pieces<read_stream>, holder);
  define(env, sockets, "write", on_pieces<write_stream>, holder);
  define(env, sockets, "end", on_handle<end_stream>, holder);
  define(env, sockets, "setRoom", on_set_room, holder);
  define(env, sockets, "receive", on_pieces<receive_from_host>, holder);
  define(env, sockets, "send", on_pieces<send_to_host>, holder);
  define(env, sockets, "sendFragmented", on_handle<send_fragmented>, holder);
  define(env, sockets, "takeError", on_handle<take_socket_error>, holder);
  define(env, sockets, "pathMtu", on_handle<path_mtu>, holder);
  define(env, sockets, "verify", on_verify, holder);
  define(env, sockets, "closeSocket", on_handle<close_by_handle<false>>, holder);
  define(env, sockets, "resetSocket", on_handle<close_by_handle<true>>, holder);
  define(env, sockets, "count", on_count, holder);
  define(env, sockets, "close", on_close_all, holder);
  return sockets;
}

// Returns the type of the route (RTN_), or -errno, and fills an array of 16 bytes with the source
// address (zeros: none).
napi_value on_find_route(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes address = address_of(call, 0);
  char name[IFNAMSIZ] = {};
  name_of(call, call.values[1], name);
  const Bytes source = bytes_of(call, 2, 16);
  if (call.failed) return nullptr;
  Route route = {};
  const int found = find_route(address.data, address.length, name, route);
  memset(source.data, 0, 16);
  if (found < 0) return make_integer(env, found);
  memcpy(source.data, route.source, route.has_source ? 16 : 0);
  return make_integer(env, route.type);
}

}  // namespace

void define_sockets(napi_env env, napi_value exports) {
  define(env, exports, "createSockets", on_create_sockets, nullptr);
  define(env, exports, "findRoute", on_find_route, nullptr);
}

}  // namespace postern
