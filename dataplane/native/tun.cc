// Opens the TUN and reads it: one read per packet into a slot of the arena, its virtio_net_hdr
// before it. With offloads a packet may be a super-packet of 64 KiB.

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "engine.h"
#include "system.h"
#include "virtio.h"

#ifndef TUN_F_USO4
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

namespace postern {

namespace {

constexpr size_t PACKET_BYTES_MAX = 65535;
// Bytes after which a batch is full. So a batch stays in the cache between its steps, and datagrams
// that arrive meanwhile do not wait longer than it takes.
constexpr size_t BATCH_BYTES = 512 * 1024;

}  // namespace

int open_tun(const char* name, bool virtio_header, bool has_queues, TunFeatures& features) {
  const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return -errno;
  ifreq request = {};
  strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI | (virtio_header ? IFF_VNET_HDR : 0) |
                      (has_queues ? IFF_MULTI_QUEUE : 0);
  if (ioctl(fd, TUNSETIFF, &request) < 0) {
    const int error = errno;
    close(fd);
    return -error;
  }
  features.udp = false;
  if (!virtio_header) return fd;
  int header_bytes = VIRTIO_HEADER_BYTES;
  constexpr unsigned TCP = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
  if (ioctl(fd, TUNSETVNETHDRSZ, &header_bytes) < 0) {
    const int error = errno;
    close(fd);
    return -error;
  }
  if (ioctl(fd, TUNSETOFFLOAD, TCP | TUN_F_USO4 | TUN_F_USO6) == 0) {
    features.udp = true;
  } else if (ioctl(fd, TUNSETOFFLOAD, TCP) < 0) {
    const int error = errno;
    close(fd);
    return -error;
  }
  return fd;
}

int set_queue(int fd, bool is_used) {
  ifreq request = {};
  request.ifr_flags = is_used ? IFF_ATTACH_QUEUE : IFF_DETACH_QUEUE;
  return ioctl(fd, TUNSETQUEUE, &request) < 0 ? -errno : 0;
}

int read_tun(Engine& engine) {
  Batch& batch = engine.packets;
  int count = 0;
  size_t bytes = 0;
  for (int reads = 0; reads < batch.capacity && bytes < BATCH_BYTES; reads++) {
    const size_t offset = count * SLOT_BYTES + SLOT_HEADROOM_BYTES;
    uint8_t* start = batch.bytes + offset - VIRTIO_HEADER_BYTES;
    // One byte more than a packet can have, so that a longer packet is noticed.
    const ssize_t got = read(engine.tun, start, VIRTIO_HEADER_BYTES + PACKET_BYTES_MAX + 1);
    if (got < 0) {
      if (errno == EAGAIN || errno == EINTR) break;
      engine.error(ERROR_TUN_READ);
      // The interface was removed; poll must not return for it again and again.
      if (errno == EBADFD || errno == EBADF || errno == ENODEV) engine.tun_gone = true;
      break;
    }
    if (got == 0) {
      engine.error(ERROR_TUN_READ);
      engine.tun_gone = true;
      break;
    }
    if (static_cast<size_t>(got) <= VIRTIO_HEADER_BYTES) {
      engine.error(ERROR_TUN_READ);
      continue;
    }
    const size_t length = static_cast<size_t>(got) - VIRTIO_HEADER_BYTES;
    int32_t* d = batch.descriptor(count++);
    d[OFFSET] = static_cast<int32_t>(offset);
    d[LENGTH] = static_cast<int32_t>(length);
    d[MARK] = length > PACKET_BYTES_MAX ? MARK_TRUNCATED : MARK_DROP;
    bytes += length;
  }
  engine.coalescer.count(count, bytes);
  return count;
}

}  // namespace postern
