// The cipher of transport data: ChaCha20-Poly1305 (RFC 8439, 2.8) without additional data, made of
// OpenSSL's ChaCha20 and Poly1305.
//
// OpenSSL's own combination calls ChaCha20 three times for a packet: for the key of Poly1305, for
// all whole blocks, for the rest of a block. Each call with one block costs as much as eight blocks
// of a long one. Here one call makes the key and the text: block 0 of the key stream is the key of
// Poly1305 and the text begins with block 1, so the text is copied behind a block of zeros and
// rounded up to whole blocks. The copy is small and stays in the first-level cache.

#include "aead.h"

#include <openssl/crypto.h>

#include <cstdlib>
#include <cstring>

namespace postern {

namespace {

constexpr size_t ONE_TIME_KEY_BYTES = 32;
constexpr size_t MAC_BLOCK_BYTES = 16;

void store64_little(uint8_t* out, uint64_t value) {
  for (int i = 0; i < 8; i++) out[i] = static_cast<uint8_t>(value >> (8 * i));
}

// Writes what Poly1305 reads after a text: zeros up to a whole block, the length of the additional
// data (none) and that of the text. Returns how many bytes Poly1305 reads in all.
size_t end_authenticated(uint8_t* text, size_t length) {
  const size_t padded = (length + MAC_BLOCK_BYTES - 1) & ~(MAC_BLOCK_BYTES - 1);
  memset(text + length, 0, padded - length + 8);
  store64_little(text + padded + 8, length);
  return padded + 16;
}

}  // namespace

Aead::Aead()
    : cipher_(EVP_CIPHER_fetch(nullptr, "ChaCha20", nullptr)),
      sealer_(EVP_CIPHER_CTX_new()),
      opener_(EVP_CIPHER_CTX_new()),
      mac_(EVP_MAC_fetch(nullptr, "Poly1305", nullptr)),
      authenticator_(mac_ == nullptr ? nullptr : EVP_MAC_CTX_new(mac_)),
      in_(static_cast<uint8_t*>(aligned_alloc(BLOCK_BYTES, BUFFER_BYTES))),
      out_(static_cast<uint8_t*>(aligned_alloc(BLOCK_BYTES, BUFFER_BYTES))) {
  if (in_ == nullptr || out_ == nullptr) abort();
  memset(in_, 0, BUFFER_BYTES);
}

Aead::~Aead() {
  EVP_MAC_CTX_free(authenticator_);
  EVP_MAC_free(mac_);
  EVP_CIPHER_CTX_free(sealer_);
  EVP_CIPHER_CTX_free(opener_);
  EVP_CIPHER_free(cipher_);
  OPENSSL_cleanse(in_, BUFFER_BYTES);
  OPENSSL_cleanse(out_, BUFFER_BYTES);
  free(in_);
  free(out_);
}

bool Aead::is_ready() const {
  return cipher_ != nullptr && sealer_ != nullptr && opener_ != nullptr &&
         authenticator_ != nullptr;
}

bool Aead::apply(EVP_CIPHER_CTX* context, uint64_t& context_owner, uint64_t owner,
                 const uint8_t* key, uint64_t counter, size_t length) {
  // The block counter 0, then the nonce: 32 bits of zeros and the counter (paper, 5.4.6).
  uint8_t start[16] = {};
  store64_little(start + 8, counter);
  const bool cached = owner != 0 && owner == context_owner;
  context_owner = 0;
  if (!EVP_EncryptInit_ex2(context, cached ? nullptr : cipher_, cached ? nullptr : key, start,
                           nullptr))
    return false;
  const size_t bytes = (BLOCK_BYTES + length + BLOCK_BYTES - 1) & ~(BLOCK_BYTES - 1);
  int written = 0;
  if (!EVP_EncryptUpdate(context, out_, &written, in_, static_cast<int>(bytes))) return false;
  context_owner = owner;
  return true;
}

bool Aead::authenticate(const uint8_t* text, size_t length, uint8_t* tag) {
  size_t written = 0;
  return EVP_MAC_init(authenticator_, out_, ONE_TIME_KEY_BYTES, nullptr) &&
         EVP_MAC_update(authenticator_, text, length) &&
         EVP_MAC_final(authenticator_, tag, &written, TAG_BYTES);
}

bool Aead::seal(uint64_t owner, const uint8_t* key, uint64_t counter, const uint8_t* in,
                size_t length, uint8_t* out) {
  if (length > TEXT_BYTES_MAX) return false;
  memcpy(in_ + BLOCK_BYTES, in, length);
  if (!apply(sealer_, seal_owner_, owner, key, counter, length)) return false;
  uint8_t* text = out_ + BLOCK_BYTES;
  memcpy(out, text, length);
  return authenticate(text, end_authenticated(text, length), out + length);
}

bool Aead::open(uint64_t owner, const uint8_t* key, uint64_t counter, uint8_t* data,
                size_t length) {
  if (length > TEXT_BYTES_MAX) return false;
  uint8_t* text = in_ + BLOCK_BYTES;
  memcpy(text, data, length);
  const size_t authenticated = end_authenticated(text, length);
  if (!apply(opener_, open_owner_, owner, key, counter, length)) return false;
  uint8_t tag[TAG_BYTES];
  if (!authenticate(text, authenticated, tag)) return false;
  if (CRYPTO_memcmp(tag, data + length, TAG_BYTES) != 0) return false;
  memcpy(data, out_ + BLOCK_BYTES, length);
  return true;
}

void Aead::forget(uint64_t owner) {
  // After a failure a context has no owner and may still hold this key.
  if (seal_owner_ == owner || seal_owner_ == 0) {
    EVP_CIPHER_CTX_reset(sealer_);
    seal_owner_ = 0;
  }
  if (open_owner_ == owner || open_owner_ == 0) {
    EVP_CIPHER_CTX_reset(opener_);
    open_owner_ = 0;
  }
}

void Aead::wipe() {
  forget(seal_owner_);
  forget(open_owner_);
}

}  // namespace postern
