// The virtio_net_hdr before every packet of a TUN opened with IFF_VNET_HDR, in the byte order of
// the machine (VIRTIO 1.2, section 5.1.6). <linux/virtio_net.h> of the system does not compile as
// C++, because it uses the word "class".

#ifndef POSTERN_VIRTIO_H
#define POSTERN_VIRTIO_H

#include <cstddef>
#include <cstdint>

namespace postern {

struct VirtioHeader {
  uint8_t flags;
  uint8_t gso_type;
  uint16_t hdr_len;
  uint16_t gso_size;
  uint16_t csum_start;
  uint16_t csum_offset;
};

constexpr size_t VIRTIO_HEADER_BYTES = 10;
static_assert(sizeof(VirtioHeader) == VIRTIO_HEADER_BYTES, "virtio_net_hdr is 10 bytes");

// flags
constexpr uint8_t VIRTIO_NEEDS_CSUM = 1;
constexpr uint8_t VIRTIO_DATA_VALID = 2;
// gso_type
constexpr uint8_t VIRTIO_GSO_NONE = 0;
constexpr uint8_t VIRTIO_GSO_TCPV4 = 1;
constexpr uint8_t VIRTIO_GSO_TCPV6 = 4;
constexpr uint8_t VIRTIO_GSO_UDP_L4 = 5;
constexpr uint8_t VIRTIO_GSO_ECN = 0x80;

}  // namespace postern

#endif
