// Offers the primitives of Noise to JavaScript. index.ts describes each function.

#include "call.h"
#include "primitives.h"

namespace postern {

namespace {

napi_value on_public_key(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0, 32);
  const Bytes key = bytes_of(call, 1, 32);
  if (!call.failed && !x25519_public(out.data, key.data))
    napi_throw_error(env, nullptr, "OpenSSL refused a private key");
  return nullptr;
}

napi_value on_shared_secret(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0, 32);
  const Bytes key = bytes_of(call, 1, 32);
  const Bytes other = bytes_of(call, 2, 32);
  if (call.failed) return nullptr;
  return make_boolean(env, x25519_shared(out.data, key.data, other.data));
}

napi_value on_hash(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0, 32);
  const Bytes a = bytes_of(call, 1);
  const Bytes b = bytes_of(call, 2);
  if (!call.failed)
    blake2s(out.data, 32, nullptr, 0, a.data, a.length, b.data, b.length);
  return nullptr;
}

napi_value on_mac(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0);
  const Bytes key = bytes_of(call, 1);
  const Bytes input = bytes_of(call, 2);
  if (!call.failed && (out.length == 0 || out.length > 32 || key.length > 32))
    call.refuse("a mac has 1 to 32 bytes, its key at most 32");
  if (!call.failed)
    blake2s(out.data, out.length, key.data, key.length, input.data, input.length, nullptr,
                     0);
  return nullptr;
}

napi_value on_hkdf(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes ck = bytes_of(call, 0, 32);
  const Bytes input = bytes_of(call, 1);
  const Bytes out1 = bytes_of(call, 2, 32);
  const Bytes out2 = call.is_null(3) ? Bytes{} : bytes_of(call, 3, 32);
  const Bytes out3 = call.is_null(4) ? Bytes{} : bytes_of(call, 4, 32);
  if (!call.failed)
    hkdf(ck.data, input.data, input.length, out1.data, out2.data, out3.data);
  return nullptr;
}

napi_value on_seal(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0);
  const Bytes key = bytes_of(call, 1, 32);
  const Bytes nonce = bytes_of(call, 2, 12);
  const Bytes plaintext = bytes_of(call, 3);
  const Bytes ad = bytes_of(call, 4);
  if (!call.failed && out.length != plaintext.length + 16)
    call.refuse("out must hold text and tag");
  if (!call.failed && !aead_seal(out.data, key.data, nonce.data, plaintext.data, plaintext.length,
                                 ad.data, ad.length))
    napi_throw_error(env, nullptr, "OpenSSL refused to seal");
  return nullptr;
}

napi_value on_open(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0);
  const Bytes key = bytes_of(call, 1, 32);
  const Bytes nonce = bytes_of(call, 2, 12);
  const Bytes sealed = bytes_of(call, 3);
  const Bytes ad = bytes_of(call, 4);
  if (!call.failed && out.length + 16 != sealed.length) call.refuse("out must hold the text");
  if (call.failed) return nullptr;
  return make_boolean(env, aead_open(out.data, key.data, nonce.data, sealed.data, sealed.length,
                                     ad.data, ad.length));
}

napi_value on_xseal(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0);
  const Bytes key = bytes_of(call, 1, 32);
  const Bytes nonce = bytes_of(call, 2, 24);
  const Bytes plaintext = bytes_of(call, 3);
  const Bytes ad = bytes_of(call, 4);
  if (!call.failed && out.length != plaintext.length + 16)
    call.refuse("out must hold text and tag");
  if (!call.failed && !xaead_seal(out.data, key.data, nonce.data, plaintext.data,
                                  plaintext.length, ad.data, ad.length))
    napi_throw_error(env, nullptr, "OpenSSL refused to seal");
  return nullptr;
}

napi_value on_xopen(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes out = bytes_of(call, 0);
  const Bytes key = bytes_of(call, 1, 32);
  const Bytes nonce = bytes_of(call, 2, 24);
  const Bytes sealed = bytes_of(call, 3);
  const Bytes ad = bytes_of(call, 4);
  if (!call.failed && out.length + 16 != sealed.length) call.refuse("out must hold the text");
  if (call.failed) return nullptr;
  return make_boolean(env, xaead_open(out.data, key.data, nonce.data, sealed.data, sealed.length,
                                      ad.data, ad.length));
}

}  // namespace

void define_primitives(napi_env env, napi_value exports) {
  define(env, exports, "publicKey", on_public_key, nullptr);
  define(env, exports, "sharedSecret", on_shared_secret, nullptr);
  define(env, exports, "hash", on_hash, nullptr);
  define(env, exports, "mac", on_mac, nullptr);
  define(env, exports, "hkdf", on_hkdf, nullptr);
  define(env, exports, "seal", on_seal, nullptr);
  define(env, exports, "open", on_open, nullptr);
  define(env, exports, "xseal", on_xseal, nullptr);
  define(env, exports, "xopen", on_xopen, nullptr);
}

}  // namespace postern
