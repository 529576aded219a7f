// A call from JavaScript: its arguments as checked bytes and numbers, and what it returns or
// throws. After a refusal no more arguments are read.

#ifndef POSTERN_CALL_H
#define POSTERN_CALL_H

#include <node_api.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace postern {

constexpr size_t ARGUMENTS_MAX = 8;
// Longer than any message. OpenSSL counts in int; of a longer input it would read only a part.
constexpr size_t BYTES_MAX = 1 << 20;

// Whether a number is whole and in a range, both ends included.
inline bool is_whole(double value, double least, double greatest) {
  return value >= least && value <= greatest && std::floor(value) == value;
}

struct Call {
  napi_env env;
  napi_value values[ARGUMENTS_MAX] = {};
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

  // A whole number in a range, both ends included. Node-API would cut a number that does not fit,
  // and the result could name another file, key or port.
  int32_t integer(int i, int32_t least = INT32_MIN, int32_t greatest = INT32_MAX) {
    return static_cast<int32_t>(whole(i, least, greatest));
  }

  // 32 bits, which may come as a signed or an unsigned number.
  uint32_t word(int i) {
    return static_cast<uint32_t>(static_cast<int64_t>(whole(i, INT32_MIN, UINT32_MAX)));
  }

  double whole(int i, double least, double greatest) {
    const double value = number(i);
    if (is_whole(value, least, greatest)) return value;
    refuse("a whole number is expected, and one that is not out of range");
    return 0;
  }

  bool boolean(int i) {
    bool value = false;
    if (napi_get_value_bool(env, values[i], &value) != napi_ok) refuse("a boolean is expected");
    return value;
  }

  // A boolean that may be left out: false.
  bool flag(int i) { return !is_null(i) && boolean(i); }

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

inline Bytes bytes_up_to(Call& call, int i, size_t limit) {
  Bytes bytes;
  napi_typedarray_type type = napi_int8_array;
  void* data = nullptr;
  if (napi_get_typedarray_info(call.env, call.values[i], &type, &bytes.length, &data, nullptr,
                               nullptr) != napi_ok ||
      type != napi_uint8_array || bytes.length > limit) {
    call.refuse("a Uint8Array is expected, and not a huge one");
    return {};
  }
  bytes.data = static_cast<uint8_t*>(data);
  return bytes;
}

inline Bytes bytes_of(Call& call, int i) { return bytes_up_to(call, i, BYTES_MAX); }

inline Bytes bytes_of(Call& call, int i, size_t length) {
  const Bytes bytes = bytes_of(call, i);
  if (!call.failed && bytes.length != length)
    call.refuse("a Uint8Array of another length is expected");
  return bytes;
}

inline napi_value make_number(napi_env env, double value) {
  napi_value result = nullptr;
  napi_create_double(env, value, &result);
  return result;
}

inline napi_value make_integer(napi_env env, int32_t value) {
  napi_value result = nullptr;
  napi_create_int32(env, value, &result);
  return result;
}

inline napi_value make_boolean(napi_env env, bool value) {
  napi_value result = nullptr;
  napi_get_boolean(env, value, &result);
  return result;
}

inline void set(napi_env env, napi_value object, const char* name, napi_value value) {
  napi_set_named_property(env, object, name, value);
}

inline const char* error_name(int error) {
  switch (error) {
    case EPERM: return "EPERM";
    case EACCES: return "EACCES";
    case ENOENT: return "ENOENT";
    case ESRCH: return "ESRCH";
    case EEXIST: return "EEXIST";
    case EBUSY: return "EBUSY";
    case EADDRINUSE: return "EADDRINUSE";
    case EAFNOSUPPORT: return "EAFNOSUPPORT";
    case ENODEV: return "ENODEV";
    case EINVAL: return "EINVAL";
    default: return "ESYSTEM";
  }
}

// Throws for a negative result, which is -errno; returns whether it did.
inline bool throws(Call& call, int result, const char* what) {
  if (result >= 0) return false;
  char message[160];
  snprintf(message, sizeof message, "%s: %s", what, strerror(-result));
  napi_throw_error(call.env, error_name(-result), message);
  return true;
}

inline void define(napi_env env, napi_value object, const char* name, napi_callback function,
            void* context) {
  napi_value value = nullptr;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, function, context, &value);
  set(env, object, name, value);
}

// What each file of bindings adds to the addon.
void define_system(napi_env env, napi_value exports);
void define_primitives(napi_env env, napi_value exports);
void define_engine(napi_env env, napi_value exports);
void define_sockets(napi_env env, napi_value exports);

}  // namespace postern

#endif
