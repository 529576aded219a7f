// Implements checksum.h.

#include "checksum.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

namespace postern {

// Compiled twice where the C library can choose when it loads: with AVX2 the sum is three times as
// fast.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("avx2", "default")))
#endif
static uint64_t sum_words(const uint8_t* bytes, size_t words, uint64_t sum) {
  for (size_t i = 0; i < words; i++) {
    uint32_t word;
    memcpy(&word, bytes + 4 * i, 4);
    sum += word;
  }
  return sum;
}

uint64_t sum_bytes(const uint8_t* bytes, size_t length, uint64_t sum) {
  const size_t words = length / 4;
  sum = sum_words(bytes, words, sum);
  const size_t rest = length - 4 * words;
  if (rest > 0) {
    uint32_t word = 0;
    memcpy(&word, bytes + 4 * words, rest);
    sum += word;
  }
  return sum;
}

uint64_t sum_pseudo_header(const uint8_t* ip, bool is_ipv6, uint8_t protocol, size_t upper_bytes) {
  uint64_t sum = is_ipv6 ? sum_bytes(ip + 8, 32, 0) : sum_bytes(ip + 12, 8, 0);
  sum += htons(protocol);
  sum += htonl(static_cast<uint32_t>(upper_bytes));
  return sum;
}

bool has_right_checksum(const uint8_t* packet, size_t length) {
  bool is_ipv6 = false;
  size_t upper = 20;
  if (length >= 28 && packet[0] == 0x45) {
    if ((load16(packet + 6) & 0x3fff) != 0 || load16(packet + 2) != length) return false;
  } else if (length >= 48 && (packet[0] >> 4) == 6) {
    if (load16(packet + 4) + 40u != length) return false;
    is_ipv6 = true;
    upper = 40;
  } else {
    return false;
  }
  const uint8_t protocol = packet[is_ipv6 ? 6 : 9];
  const size_t upper_bytes = length - upper;
  const uint8_t* header = packet + upper;
  if (protocol == IPPROTO_UDP) {
    if (load16(header + 4) != upper_bytes || load16(header + 6) == 0) return false;
  } else if (protocol != IPPROTO_TCP || upper_bytes < 20) {
    return false;
  }
  const uint64_t sum = sum_pseudo_header(packet, is_ipv6, protocol, upper_bytes);
  return fold_sum(sum_bytes(header, upper_bytes, sum)) == 0xffff;
}

}  // namespace postern
