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

size_t plain_transport(const uint8_t* packet, size_t length) {
  if (length >= 28 && packet[0] == 0x45)
    return (load16(packet + 6) & 0x3fff) != 0 || load16(packet + 2) != length ? 0 : 20;
  if (length >= 48 && (packet[0] >> 4) == 6) return load16(packet + 4) + 40u == length ? 40 : 0;
  return 0;
}

bool is_upper_right(const uint8_t* packet, size_t length, size_t transport, uint8_t protocol) {
  const size_t upper_bytes = length - transport;
  const uint64_t sum = sum_pseudo_header(packet, transport == 40, protocol, upper_bytes);
  return fold_sum(sum_bytes(packet + transport, upper_bytes, sum)) == 0xffff;
}

bool has_right_checksum(const uint8_t* packet, size_t length) {
  const size_t transport = plain_transport(packet, length);
  if (transport == 0) return false;
  const uint8_t protocol = packet[transport == 40 ? 6 : 9];
  const size_t upper_bytes = length - transport;
  const uint8_t* header = packet + transport;
  if (protocol == IPPROTO_UDP) {
    if (load16(header + 4) != upper_bytes || load16(header + 6) == 0) return false;
  } else if (protocol != IPPROTO_TCP || upper_bytes < 20) {
    return false;
  }
  return is_upper_right(packet, length, transport, protocol);
}

}  // namespace postern
