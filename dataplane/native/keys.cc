// The keys, and the cipher that uses them. No key leaves this file.

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>

#include <cstdlib>
#include <new>

#include "engine.h"

namespace postern {

namespace {

// 5.4.6: the nonce is 32 bits of zeros and the 64-bit little-endian counter.
void write_nonce(uint8_t nonce[12], uint64_t counter) {
  memset(nonce, 0, 4);
  for (int i = 0; i < 8; i++) nonce[4 + i] = static_cast<uint8_t>(counter >> (8 * i));
}

}  // namespace

KeyTable::KeyTable()
    // Pages of these tables that are never written take no memory.
    : slots_(static_cast<KeySlot*>(calloc(MAX_KEYPAIRS, sizeof(KeySlot)))),
      free_(static_cast<uint32_t*>(calloc(MAX_KEYPAIRS, sizeof(uint32_t)))) {
  if (slots_ == nullptr || free_ == nullptr) abort();
}

KeyTable::~KeyTable() {
  wipe();
  free(slots_);
  free(free_);
}

int KeyTable::install(const uint8_t* send, const uint8_t* receive, uint32_t remote_index,
                      uint32_t& generation) {
  uint32_t slot;
  if (free_count_ > 0) {
    slot = free_[--free_count_];
  } else if (used_ < MAX_KEYPAIRS) {
    slot = used_++;
  } else {
    return -1;
  }
  KeySlot& key = slots_[slot];
  memcpy(key.send, send, KEY_BYTES);
  memcpy(key.receive, receive, KEY_BYTES);
  key.send_counter = 0;
  key.remote_index = remote_index;
  key.in_use = true;
  key.owner = (static_cast<uint64_t>(key.generation) + 1) << 32 | slot;
  generation = key.generation;
  return static_cast<int>(slot);
}

uint64_t KeyTable::remove(int32_t slot, int32_t generation) {
  KeySlot* key = find(slot, generation);
  if (key == nullptr) return 0;
  OPENSSL_cleanse(key->send, KEY_BYTES);
  OPENSSL_cleanse(key->receive, KEY_BYTES);
  key->in_use = false;
  key->generation++;
  free_[free_count_++] = static_cast<uint32_t>(slot);
  return key->owner;
}

KeySlot* KeyTable::find(int32_t slot, int32_t generation) {
  if (slot < 0 || static_cast<uint32_t>(slot) >= used_) return nullptr;
  KeySlot& key = slots_[slot];
  return key.in_use && key.generation == static_cast<uint32_t>(generation) ? &key : nullptr;
}

void KeyTable::wipe() {
  for (uint32_t slot = 0; slot < used_; slot++) {
    remove(static_cast<int32_t>(slot), static_cast<int32_t>(slots_[slot].generation));
  }
}

Aead::Aead()
    : cipher_(EVP_CIPHER_fetch(nullptr, "ChaCha20-Poly1305", nullptr)),
      sealer_(EVP_CIPHER_CTX_new()),
      opener_(EVP_CIPHER_CTX_new()) {}

Aead::~Aead() {
  EVP_CIPHER_CTX_free(sealer_);
  EVP_CIPHER_CTX_free(opener_);
  EVP_CIPHER_free(cipher_);
}

bool Aead::is_ready() const {
  return cipher_ != nullptr && sealer_ != nullptr && opener_ != nullptr;
}

bool Aead::seal(uint64_t owner, const uint8_t* key, uint64_t counter, const uint8_t* in,
                size_t length, uint8_t* out) {
  uint8_t nonce[12];
  write_nonce(nonce, counter);
  const bool cached = owner != 0 && owner == seal_owner_;
  seal_owner_ = 0;
  if (!EVP_EncryptInit_ex2(sealer_, cached ? nullptr : cipher_, cached ? nullptr : key, nonce,
                           nullptr))
    return false;
  int written = 0;
  if (length > 0 && !EVP_EncryptUpdate(sealer_, out, &written, in, static_cast<int>(length)))
    return false;
  if (!EVP_EncryptFinal_ex(sealer_, out + written, &written)) return false;
  OSSL_PARAM tag[] = {
      OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, out + length, TAG_BYTES),
      OSSL_PARAM_construct_end()};
  if (!EVP_CIPHER_CTX_get_params(sealer_, tag)) return false;
  seal_owner_ = owner;
  return true;
}

bool Aead::open(uint64_t owner, const uint8_t* key, uint64_t counter, uint8_t* data,
                size_t length) {
  uint8_t nonce[12];
  write_nonce(nonce, counter);
  const bool cached = owner != 0 && owner == open_owner_;
  open_owner_ = 0;
  const OSSL_PARAM tag[] = {
      OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, data + length, TAG_BYTES),
      OSSL_PARAM_construct_end()};
  if (!EVP_DecryptInit_ex2(opener_, cached ? nullptr : cipher_, cached ? nullptr : key, nonce, tag))
    return false;
  int written = 0;
  if (length > 0 && !EVP_DecryptUpdate(opener_, data, &written, data, static_cast<int>(length)))
    return false;
  open_owner_ = owner;
  return EVP_DecryptFinal_ex(opener_, data + written, &written) == 1;
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

Engine::Engine() : queue(static_cast<uint8_t*>(malloc(QUEUE_BYTES))) {
  if (queue == nullptr) abort();
}

Engine::~Engine() {
  wipe();
  free(queue);
}

void Engine::remove_key(int32_t slot, int32_t generation) {
  aead.forget(keys.remove(slot, generation));
}

void Engine::wipe() {
  aead.wipe();
  keys.wipe();
}

}  // namespace postern
