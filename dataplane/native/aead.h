// The cipher of transport data; aead.cc.

#ifndef POSTERN_AEAD_H
#define POSTERN_AEAD_H

#include <openssl/evp.h>

#include "contract.h"

namespace postern {

// ChaCha20-Poly1305 with one ChaCha20 context per direction. Setting a key costs more than setting
// a nonce, and the packets of a train share a key, so the context keeps the key and its owner.
class Aead {
 public:
  Aead();
  ~Aead();
  Aead(const Aead&) = delete;
  Aead& operator=(const Aead&) = delete;

  // False where OpenSSL lacks a cipher or memory; then nothing else may be called.
  bool is_ready() const;
  // Writes length + TAG_BYTES; `out` may be `in`. `owner` identifies the key (0 means: not cached).
  bool seal(uint64_t owner, const uint8_t* key, uint64_t counter, const uint8_t* in, size_t length,
            uint8_t* out);
  // Opens in place. `length` is that of the plaintext; the tag follows the ciphertext. What is not
  // authentic is left as it was.
  bool open(uint64_t owner, const uint8_t* key, uint64_t counter, uint8_t* data, size_t length);
  // Wipes a key from the contexts.
  void forget(uint64_t owner);
  void wipe();

 private:
  static constexpr size_t BLOCK_BYTES = 64;
  static constexpr size_t TEXT_BYTES_MAX = 65536;
  // A block before the text; after it what rounds it up, or what Poly1305 reads.
  static constexpr size_t BUFFER_BYTES = BLOCK_BYTES + TEXT_BYTES_MAX + BLOCK_BYTES;

  // Combines `in_` with the key stream into `out_`: the block of zeros, then `length` bytes.
  bool apply(EVP_CIPHER_CTX* context, uint64_t& context_owner, uint64_t owner, const uint8_t* key,
             uint64_t counter, size_t length);
  // Computes the tag with the key at the beginning of `out_`.
  bool authenticate(const uint8_t* text, size_t length, uint8_t* tag);

  EVP_CIPHER* cipher_;
  EVP_CIPHER_CTX* sealer_;
  EVP_CIPHER_CTX* opener_;
  uint64_t seal_owner_ = 0;
  uint64_t open_owner_ = 0;
  EVP_MAC* mac_;
  EVP_MAC_CTX* authenticator_;
  uint8_t* in_;
  uint8_t* out_;
};

}  // namespace postern

#endif
