// The Internet checksum (RFC 1071): a one's complement sum of 16-bit words. Sums are kept in 64
// bits, in the byte order of memory, and folded at the end; RFC 1071 shows that the order of bytes
// does not matter as long as the result is stored in the same order.

#ifndef POSTERN_CHECKSUM_H
#define POSTERN_CHECKSUM_H

#include <cstddef>
#include <cstdint>

namespace postern {

// Adds bytes to a sum. `bytes` must begin at an even position of what is summed.
uint64_t sum_bytes(const uint8_t* bytes, size_t length, uint64_t sum);

// Folds a sum to 16 bits, not complemented, in the byte order of memory.
inline uint16_t fold_sum(uint64_t sum) {
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

// Sum of the pseudo header of TCP or UDP (RFC 9293 3.1, RFC 8200 8.1). `upper_bytes` is the length
// of the upper-layer header and data.
uint64_t sum_pseudo_header(const uint8_t* ip, bool is_ipv6, uint8_t protocol, size_t upper_bytes);

// Where the header above IP begins in a whole packet without options, extension headers and
// fragments: 20 or 40; 0: it is no such packet.
size_t plain_transport(const uint8_t* packet, size_t length);

// Whether the checksum of TCP or UDP is right over the packet from `transport`, where its header
// begins.
bool is_upper_right(const uint8_t* packet, size_t length, size_t transport, uint8_t protocol);

// Whether a packet is whole, has no options or extension headers, and a checksum of TCP or UDP that
// is right. A UDP datagram without a checksum has none that is right.
bool has_right_checksum(const uint8_t* packet, size_t length);

inline uint16_t load16(const uint8_t* p) { return static_cast<uint16_t>(p[0] << 8 | p[1]); }
inline uint32_t load32(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) << 24 | static_cast<uint32_t>(p[1]) << 16 |
         static_cast<uint32_t>(p[2]) << 8 | p[3];
}
inline void store16(uint8_t* p, uint16_t value) {
  p[0] = static_cast<uint8_t>(value >> 8);
  p[1] = static_cast<uint8_t>(value);
}
inline void store32(uint8_t* p, uint32_t value) {
  store16(p, static_cast<uint16_t>(value >> 16));
  store16(p + 2, static_cast<uint16_t>(value));
}

}  // namespace postern

#endif
