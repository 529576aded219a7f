// The primitives of Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s for the handshake, as
// dataplane/noise/primitives.ts describes them. They have no state; only OpenSSL allocates.

#ifndef POSTERN_PRIMITIVES_H
#define POSTERN_PRIMITIVES_H

#include <cstddef>
#include <cstdint>

namespace postern {

bool x25519_public(uint8_t out[32], const uint8_t private_key[32]);
// False when the shared secret is all zero (RFC 7748, 6.1) or OpenSSL refuses.
bool x25519_shared(uint8_t out[32], const uint8_t private_key[32], const uint8_t public_key[32]);

// BLAKE2s (RFC 7693), with or without a key, over two inputs in order.
void blake2s(uint8_t* out, size_t out_bytes, const uint8_t* key, size_t key_bytes, const uint8_t* a,
             size_t a_bytes, const uint8_t* b, size_t b_bytes);

// HKDF of Noise (section 4.3) over HMAC-BLAKE2s; out2 and out3 may be null.
void hkdf(const uint8_t ck[32], const uint8_t* input, size_t input_bytes, uint8_t out1[32],
          uint8_t* out2, uint8_t* out3);

// ChaCha20-Poly1305 (RFC 8439) with a 12-byte nonce; seal writes length + 16 bytes.
bool aead_seal(uint8_t* out, const uint8_t key[32], const uint8_t nonce[12], const uint8_t* in,
               size_t length, const uint8_t* ad, size_t ad_bytes);
// `sealed_bytes` includes the tag.
bool aead_open(uint8_t* out, const uint8_t key[32], const uint8_t nonce[12], const uint8_t* sealed,
               size_t sealed_bytes, const uint8_t* ad, size_t ad_bytes);

// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03, section 2.3) with a 24-byte nonce. Each thread
// keeps the last key that it sealed with: the key of cookies, which everybody can compute.
bool xaead_seal(uint8_t* out, const uint8_t key[32], const uint8_t nonce[24], const uint8_t* in,
                size_t length, const uint8_t* ad, size_t ad_bytes);
bool xaead_open(uint8_t* out, const uint8_t key[32], const uint8_t nonce[24],
                const uint8_t* sealed, size_t sealed_bytes, const uint8_t* ad, size_t ad_bytes);

}  // namespace postern

#endif
