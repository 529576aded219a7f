// The door of the addon (Node-API, context-aware): it turns JavaScript values into bytes and
// numbers and back, and checks them, in the files of bindings.

#include "call.h"

NAPI_MODULE_INIT() {
  postern::define_system(env, exports);
  postern::define_primitives(env, exports);
  postern::define_engine(env, exports);
  return exports;
}
