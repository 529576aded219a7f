// The options that JavaScript makes something from: numbers in their range, and memory that stays
// where it is for as long as it is used.

#ifndef POSTERN_OPTIONS_H
#define POSTERN_OPTIONS_H

#include "call.h"

namespace postern {

// As many typed arrays as one object may use.
constexpr size_t HELD_MAX = 40;

// The memory that is kept alive.
struct HeldMemory {
  napi_ref buffers[HELD_MAX];
  size_t count;

  void release(napi_env env) {
    for (size_t i = 0; i < count; i++) napi_delete_reference(env, buffers[i]);
    count = 0;
  }
};

// An object of C++ that JavaScript uses through functions, with the memory that it uses.
template <typename Held>
struct Holder {
  napi_env env;
  Held* held = nullptr;
  HeldMemory memory = {};

  void release() {
    if (held == nullptr) return;
    delete held;
    held = nullptr;
    memory.release(env);
  }

  // Runs when the environment ends, though nobody closed the object: keys are wiped, and a worker
  // that dies leaves no socket.
  static void clean_up(void* data) {
    auto* holder = static_cast<Holder*>(data);
    delete holder->held;
    delete holder;
  }
};

struct Options {
  Call& call;
  napi_value object;
  HeldMemory& held;

  napi_value get(const char* name) {
    napi_value value = nullptr;
    napi_get_named_property(call.env, object, name, &value);
    return value;
  }

  bool has(const char* name) {
    napi_valuetype type = napi_undefined;
    return napi_typeof(call.env, get(name), &type) == napi_ok && type != napi_undefined;
  }

  // A whole number in a range, both ends included.
  int32_t integer(const char* name, int32_t least, int32_t greatest) {
    double value = 0;
    if (napi_get_value_double(call.env, get(name), &value) != napi_ok ||
        !is_whole(value, least, greatest)) {
      call.refuse("the options lack a number, or it is out of range");
      return least;
    }
    return static_cast<int32_t>(value);
  }

  // A limit of messages, at most `most`, which is also the default.
  uint64_t messages(const char* name, uint64_t most) {
    if (!has(name)) return most;
    double value = 0;
    if (napi_get_value_double(call.env, get(name), &value) != napi_ok ||
        !is_whole(value, 1, static_cast<double>(most))) {
      call.refuse("a limit of messages is no whole number, or higher than it may be");
      return most;
    }
    return static_cast<uint64_t>(value);
  }

  bool boolean(const char* name) {
    bool value = false;
    if (napi_get_value_bool(call.env, get(name), &value) != napi_ok)
      call.refuse("the options lack a boolean");
    return value;
  }

  // Whether memory has a fixed length, and belongs to this thread alone or, where `shared`, to all.
  // Asking may run JavaScript.
  bool is_fixed(napi_value array, bool shared) {
    napi_value buffer = nullptr;
    napi_value resizable = nullptr;
    bool is_own = false;
    bool is_resizable = true;
    return napi_get_typedarray_info(call.env, array, nullptr, nullptr, nullptr, &buffer, nullptr) ==
               napi_ok &&
           // The buffer of a typed array that is no ArrayBuffer is a SharedArrayBuffer.
           napi_is_arraybuffer(call.env, buffer, &is_own) == napi_ok && is_own != shared &&
           napi_get_named_property(call.env, buffer, shared ? "growable" : "resizable",
                                   &resizable) == napi_ok &&
           napi_get_value_bool(call.env, resizable, &is_resizable) == napi_ok && !is_resizable;
  }

  // The memory of a typed array, and how many elements it has. It is kept alive until it is
  // released. The caller marks it as not transferable, so it does not move.
  void* memory(napi_value array, napi_typedarray_type wanted, size_t minimum,
               size_t* elements = nullptr) {
    napi_typedarray_type type = napi_int8_array;
    size_t length = 0;
    void* data = nullptr;
    napi_value buffer = nullptr;
    if (napi_get_typedarray_info(call.env, array, &type, &length, &data, &buffer, nullptr) !=
            napi_ok ||
        type != wanted || length < minimum || held.count == HELD_MAX ||
        reinterpret_cast<uintptr_t>(data) % alignof(double) != 0) {
      call.refuse("the options lack a typed array, or it is too short or not aligned");
      return nullptr;
    }
    napi_create_reference(call.env, buffer, 1, &held.buffers[held.count++]);
    if (elements != nullptr) *elements = length;
    return data;
  }
};

}  // namespace postern

#endif
