// The keys. No key leaves this file but to the cipher (aead.cc).

#include <openssl/crypto.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "engine.h"

namespace postern {

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

Engine::Engine() : queue(static_cast<uint8_t*>(malloc(QUEUE_BYTES))) {
  if (queue == nullptr) abort();
}

Engine::~Engine() {
  wipe();
  free(queue);
  if (sockets >= 0) close(sockets);
}

void Engine::remove_key(int32_t slot, int32_t generation) {
  aead.forget(keys.remove(slot, generation));
}

void Engine::wipe() {
  aead.wipe();
  keys.wipe();
}

}  // namespace postern
