// The entry of the addon (Node-API, context-aware). The files bind_*.cc turn JavaScript values into
// checked bytes and numbers, and back.

#include "call.h"

NAPI_MODULE_INIT() {
  postern::define_system(env, exports);
  postern::define_primitives(env, exports);
  postern::define_engine(env, exports);
  postern::define_sockets(env, exports);
  return exports;
}
