// Implements primitives.h. X25519 and ChaCha20-Poly1305 are those of OpenSSL. BLAKE2s is written
// here, because OpenSSL offers it with a key only as a MAC object, whose set-up costs more than the
// hash.

#include "primitives.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstring>

namespace postern {

namespace {

// Removes errors that OpenSSL adds to the list of the thread. TLS in the same thread would read
// them as its own. Functions here report errors by what they return.
struct Quiet {
  Quiet() { ERR_set_mark(); }
  ~Quiet() { ERR_pop_to_mark(); }
};

struct Pkey {
  EVP_PKEY* value;
  ~Pkey() { EVP_PKEY_free(value); }
};

// Makes keys of X25519 from bytes. Each thread keeps one maker: OpenSSL searches the algorithm by
// name when a context is made, which costs as much as making three keys.
class KeyMaker {
 public:
  KeyMaker() : context_(EVP_PKEY_CTX_new_from_name(nullptr, "X25519", nullptr)) {
    if (context_ != nullptr && EVP_PKEY_fromdata_init(context_) == 1) return;
    EVP_PKEY_CTX_free(context_);
    context_ = nullptr;
  }

  ~KeyMaker() { EVP_PKEY_CTX_free(context_); }

  // A private key for deriving. Without a public key OpenSSL would compute it first, which costs as
  // much as the derivation. Deriving never reads it, so a placeholder is enough.
  EVP_PKEY* deriving_key(const uint8_t private_key[32]) {
    static const uint8_t placeholder[32] = {9};
    OSSL_PARAM parameters[] = {octets(OSSL_PKEY_PARAM_PRIV_KEY, private_key),
                               octets(OSSL_PKEY_PARAM_PUB_KEY, placeholder),
                               OSSL_PARAM_construct_end()};
    return make(EVP_PKEY_KEYPAIR, parameters);
  }

  EVP_PKEY* public_key(const uint8_t bytes[32]) {
    OSSL_PARAM parameters[] = {octets(OSSL_PKEY_PARAM_PUB_KEY, bytes),
                               OSSL_PARAM_construct_end()};
    return make(EVP_PKEY_PUBLIC_KEY, parameters);
  }

 private:
  static OSSL_PARAM octets(const char* name, const uint8_t bytes[32]) {
    return OSSL_PARAM_construct_octet_string(name, const_cast<uint8_t*>(bytes), 32);
  }

  EVP_PKEY* make(int selection, OSSL_PARAM* parameters) {
    EVP_PKEY* key = nullptr;
    if (context_ == nullptr || EVP_PKEY_fromdata(context_, &key, selection, parameters) != 1)
      return nullptr;
    return key;
  }

  EVP_PKEY_CTX* context_;
};

KeyMaker& key_maker() {
  thread_local KeyMaker maker;
  return maker;
}

// Fetched once: finding it by name costs more than sealing a key with it.
const EVP_CIPHER* chacha20_poly1305() {
  static EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, "ChaCha20-Poly1305", nullptr);
  return cipher;
}

uint32_t load32_le(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) | static_cast<uint32_t>(p[1]) << 8 |
         static_cast<uint32_t>(p[2]) << 16 | static_cast<uint32_t>(p[3]) << 24;
}

void store32_le(uint8_t* p, uint32_t value) {
  for (int i = 0; i < 4; i++) p[i] = static_cast<uint8_t>(value >> (8 * i));
}

uint32_t rotate_right(uint32_t value, int bits) { return value >> bits | value << (32 - bits); }
uint32_t rotate_left(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

// ---- BLAKE2s (RFC 7693, section 3.2) ----

constexpr uint32_t IV[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

constexpr uint8_t SIGMA[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

constexpr size_t BLOCK_BYTES = 64;

void mix(uint32_t v[16], int a, int b, int c, int d, uint32_t x, uint32_t y) {
  v[a] = v[a] + v[b] + x;
  v[d] = rotate_right(v[d] ^ v[a], 16);
  v[c] = v[c] + v[d];
  v[b] = rotate_right(v[b] ^ v[c], 12);
  v[a] = v[a] + v[b] + y;
  v[d] = rotate_right(v[d] ^ v[a], 8);
  v[c] = v[c] + v[d];
  v[b] = rotate_right(v[b] ^ v[c], 7);
}

class Blake2s {
 public:
  Blake2s(size_t out_bytes, size_t key_bytes) : out_bytes_(out_bytes) {
    memcpy(h_, IV, sizeof h_);
    h_[0] ^= 0x01010000 ^ static_cast<uint32_t>(key_bytes << 8) ^ static_cast<uint32_t>(out_bytes);
  }

  ~Blake2s() {
    OPENSSL_cleanse(h_, sizeof h_);
    OPENSSL_cleanse(block_, sizeof block_);
  }

  void update(const uint8_t* in, size_t length) {
    while (length > 0) {
      // The last block is compressed in another way, so a full block waits until more input comes.
      if (filled_ == BLOCK_BYTES) {
        total_ += BLOCK_BYTES;
        compress(false);
        filled_ = 0;
      }
      const size_t room = BLOCK_BYTES - filled_;
      const size_t take = length < room ? length : room;
      memcpy(block_ + filled_, in, take);
      filled_ += take;
      in += take;
      length -= take;
    }
  }

  void finish(uint8_t* out) {
    total_ += filled_;
    memset(block_ + filled_, 0, BLOCK_BYTES - filled_);
    compress(true);
    uint8_t digest[32];
    for (int i = 0; i < 8; i++) store32_le(digest + 4 * i, h_[i]);
    memcpy(out, digest, out_bytes_);
  }

 private:
  void compress(bool is_last) {
    uint32_t m[16];
    uint32_t v[16];
    for (int i = 0; i < 16; i++) m[i] = load32_le(block_ + 4 * i);
    memcpy(v, h_, sizeof h_);
    memcpy(v + 8, IV, sizeof IV);
    v[12] ^= static_cast<uint32_t>(total_);
    v[13] ^= static_cast<uint32_t>(total_ >> 32);
    if (is_last) v[14] = ~v[14];
    // When the loop is unrolled, the compiler knows the place of each word, and a hash takes two
    // thirds of the time.
#pragma GCC unroll 10
    for (const auto& s : SIGMA) {
      mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
      mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
      mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
      mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
      mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
      mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
      mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
      mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; i++) h_[i] ^= v[i] ^ v[8 + i];
  }

  uint32_t h_[8];
  uint8_t block_[BLOCK_BYTES];
  size_t filled_ = 0;
  uint64_t total_ = 0;
  size_t out_bytes_;
};

// HMAC (RFC 2104) with a 32-byte key, over two inputs in order.
void hmac(uint8_t out[32], const uint8_t key[32], const uint8_t* a, size_t a_bytes,
          const uint8_t* b, size_t b_bytes) {
  uint8_t pad[BLOCK_BYTES];
  memset(pad, 0x36, sizeof pad);
  for (int i = 0; i < 32; i++) pad[i] ^= key[i];
  uint8_t inner[32];
  Blake2s first(32, 0);
  first.update(pad, sizeof pad);
  first.update(a, a_bytes);
  first.update(b, b_bytes);
  first.finish(inner);
  for (uint8_t& byte : pad) byte ^= 0x36 ^ 0x5c;
  Blake2s second(32, 0);
  second.update(pad, sizeof pad);
  second.update(inner, sizeof inner);
  second.finish(out);
  OPENSSL_cleanse(pad, sizeof pad);
  OPENSSL_cleanse(inner, sizeof inner);
}

// ---- ChaCha20 (RFC 8439, section 2.1) ----

void quarter_round(uint32_t s[16], int a, int b, int c, int d) {
  s[a] += s[b];
  s[d] = rotate_left(s[d] ^ s[a], 16);
  s[c] += s[d];
  s[b] = rotate_left(s[b] ^ s[c], 12);
  s[a] += s[b];
  s[d] = rotate_left(s[d] ^ s[a], 8);
  s[c] += s[d];
  s[b] = rotate_left(s[b] ^ s[c], 7);
}

// HChaCha20 (draft-irtf-cfrg-xchacha-03, section 2.2): with this key and the nonce below,
// ChaCha20-Poly1305 is XChaCha20-Poly1305. It reads the first 16 bytes of the nonce.
void xchacha_subkey(uint8_t subkey[32], const uint8_t key[32], const uint8_t nonce[24]) {
  uint32_t s[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  for (int i = 0; i < 8; i++) s[4 + i] = load32_le(key + 4 * i);
  for (int i = 0; i < 4; i++) s[12 + i] = load32_le(nonce + 4 * i);
  for (int round = 0; round < 10; round++) {
    quarter_round(s, 0, 4, 8, 12);
    quarter_round(s, 1, 5, 9, 13);
    quarter_round(s, 2, 6, 10, 14);
    quarter_round(s, 3, 7, 11, 15);
    quarter_round(s, 0, 5, 10, 15);
    quarter_round(s, 1, 6, 11, 12);
    quarter_round(s, 2, 7, 8, 13);
    quarter_round(s, 3, 4, 9, 14);
  }
  for (int i = 0; i < 4; i++) store32_le(subkey + 4 * i, s[i]);
  for (int i = 0; i < 4; i++) store32_le(subkey + 16 + 4 * i, s[12 + i]);
  OPENSSL_cleanse(s, sizeof s);
}

// Of the rest of the nonce, the nonce for the subkey.
void write_subnonce(uint8_t subnonce[12], const uint8_t nonce[24]) {
  memset(subnonce, 0, 4);
  memcpy(subnonce + 4, nonce + 16, 8);
}

struct Context {
  EVP_CIPHER_CTX* value = EVP_CIPHER_CTX_new();
  ~Context() { EVP_CIPHER_CTX_free(value); }
};

// Seals with a context that has a key and a nonce.
bool seal_with(EVP_CIPHER_CTX* context, uint8_t* out, const uint8_t* in, size_t length,
               const uint8_t* ad, size_t ad_bytes) {
  int written = 0;
  return (ad_bytes == 0 || EVP_EncryptUpdate(context, nullptr, &written, ad,
                                             static_cast<int>(ad_bytes)) == 1) &&
         (length == 0 ||
          EVP_EncryptUpdate(context, out, &written, in, static_cast<int>(length)) == 1) &&
         EVP_EncryptFinal_ex(context, out + length, &written) == 1 &&
         EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, out + length) == 1;
}

// A context with the subkey of a key and of the first 16 bytes of a nonce. In a flood all cookie
// replies have these in common, and setting a subkey costs three times as much as sealing a cookie.
class XSealer {
 public:
  // The context with this key and nonce; null where OpenSSL refuses.
  EVP_CIPHER_CTX* with(const uint8_t key[32], const uint8_t nonce[24]) {
    const bool is_kept = is_set_ && memcmp(key, key_, sizeof key_) == 0 &&
                         memcmp(nonce, prefix_, sizeof prefix_) == 0;
    if (!is_kept && !set(key, nonce)) return nullptr;
    uint8_t subnonce[12];
    write_subnonce(subnonce, nonce);
    const bool has_nonce =
        EVP_EncryptInit_ex2(context_.value, nullptr, nullptr, subnonce, nullptr) == 1;
    return has_nonce ? context_.value : nullptr;
  }

 private:
  bool set(const uint8_t key[32], const uint8_t nonce[24]) {
    uint8_t subkey[32];
    xchacha_subkey(subkey, key, nonce);
    is_set_ = context_.value != nullptr && EVP_EncryptInit_ex2(context_.value, chacha20_poly1305(),
                                                               subkey, nullptr, nullptr) == 1;
    OPENSSL_cleanse(subkey, sizeof subkey);
    memcpy(key_, key, sizeof key_);
    memcpy(prefix_, nonce, sizeof prefix_);
    return is_set_;
  }

  Context context_;
  bool is_set_ = false;
  uint8_t key_[32];
  uint8_t prefix_[16];
};

}  // namespace

bool x25519_public(uint8_t out[32], const uint8_t private_key[32]) {
  const Quiet quiet;
  Pkey key{EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, private_key, 32)};
  size_t length = 32;
  return key.value != nullptr && EVP_PKEY_get_raw_public_key(key.value, out, &length) == 1;
}

bool x25519_shared(uint8_t out[32], const uint8_t private_key[32], const uint8_t public_key[32]) {
  const Quiet quiet;
  Pkey own{key_maker().deriving_key(private_key)};
  Pkey other{key_maker().public_key(public_key)};
  if (own.value == nullptr || other.value == nullptr) return false;
  EVP_PKEY_CTX* context = EVP_PKEY_CTX_new(own.value, nullptr);
  if (context == nullptr) return false;
  size_t length = 32;
  // OpenSSL itself refuses a result of zeros. Checking the public key would cost almost as much as
  // another multiplication and prove nothing more.
  const bool derived = EVP_PKEY_derive_init(context) == 1 &&
                       EVP_PKEY_derive_set_peer_ex(context, other.value, 0) == 1 &&
                       EVP_PKEY_derive(context, out, &length) == 1;
  EVP_PKEY_CTX_free(context);
  return derived;
}

void blake2s(uint8_t* out, size_t out_bytes, const uint8_t* key, size_t key_bytes, const uint8_t* a,
             size_t a_bytes, const uint8_t* b, size_t b_bytes) {
  Blake2s state(out_bytes, key_bytes);
  if (key_bytes > 0) {
    uint8_t block[BLOCK_BYTES] = {0};
    memcpy(block, key, key_bytes);
    state.update(block, sizeof block);
    OPENSSL_cleanse(block, sizeof block);
  }
  state.update(a, a_bytes);
  state.update(b, b_bytes);
  state.finish(out);
}

void hkdf(const uint8_t ck[32], const uint8_t* input, size_t input_bytes, uint8_t out1[32],
          uint8_t* out2, uint8_t* out3) {
  uint8_t secret[32];
  uint8_t output[32];
  hmac(secret, ck, input, input_bytes, nullptr, 0);
  uint8_t* const outputs[3] = {out1, out2, out3};
  for (uint8_t i = 0; i < 3 && outputs[i] != nullptr; i++) {
    const uint8_t number = static_cast<uint8_t>(i + 1);
    hmac(output, secret, output, i == 0 ? 0 : sizeof output, &number, 1);
    memcpy(outputs[i], output, sizeof output);
  }
  OPENSSL_cleanse(secret, sizeof secret);
  OPENSSL_cleanse(output, sizeof output);
}

bool aead_seal(uint8_t* out, const uint8_t key[32], const uint8_t nonce[12], const uint8_t* in,
               size_t length, const uint8_t* ad, size_t ad_bytes) {
  const Quiet quiet;
  const Context context;
  return context.value != nullptr &&
         EVP_EncryptInit_ex2(context.value, chacha20_poly1305(), key, nonce, nullptr) == 1 &&
         seal_with(context.value, out, in, length, ad, ad_bytes);
}

bool aead_open(uint8_t* out, const uint8_t key[32], const uint8_t nonce[12], const uint8_t* sealed,
               size_t sealed_bytes, const uint8_t* ad, size_t ad_bytes) {
  if (sealed_bytes < 16) return false;
  const size_t length = sealed_bytes - 16;
  uint8_t tag[16];
  memcpy(tag, sealed + length, sizeof tag);
  const Quiet quiet;
  Context context;
  int written = 0;
  uint8_t rest[16];
  return context.value != nullptr &&
         EVP_DecryptInit_ex2(context.value, chacha20_poly1305(), key, nonce, nullptr) == 1 &&
         EVP_CIPHER_CTX_ctrl(context.value, EVP_CTRL_AEAD_SET_TAG, 16, tag) == 1 &&
         (ad_bytes == 0 || EVP_DecryptUpdate(context.value, nullptr, &written, ad,
                                             static_cast<int>(ad_bytes)) == 1) &&
         (length == 0 || EVP_DecryptUpdate(context.value, out, &written, sealed,
                                           static_cast<int>(length)) == 1) &&
         EVP_DecryptFinal_ex(context.value, rest, &written) == 1;
}

bool xaead_seal(uint8_t* out, const uint8_t key[32], const uint8_t nonce[24], const uint8_t* in,
                size_t length, const uint8_t* ad, size_t ad_bytes) {
  static thread_local XSealer sealer;
  const Quiet quiet;
  EVP_CIPHER_CTX* context = sealer.with(key, nonce);
  return context != nullptr && seal_with(context, out, in, length, ad, ad_bytes);
}

bool xaead_open(uint8_t* out, const uint8_t key[32], const uint8_t nonce[24],
                const uint8_t* sealed, size_t sealed_bytes, const uint8_t* ad, size_t ad_bytes) {
  uint8_t subkey[32];
  uint8_t subnonce[12];
  xchacha_subkey(subkey, key, nonce);
  write_subnonce(subnonce, nonce);
  const bool opened = aead_open(out, subkey, subnonce, sealed, sealed_bytes, ad, ad_bytes);
  OPENSSL_cleanse(subkey, sizeof subkey);
  return opened;
}

}  // namespace postern
