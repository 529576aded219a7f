// Leads each datagram to the socket of its worker. The sockets of all workers are a SO_REUSEPORT
// group, and a program in classic BPF, which needs no rights, picks one of them by the message type
// and the receiver index. dataplane/wireguard/steering.ts says what belongs to whom.

#include <linux/filter.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "contract.h"
#include "system.h"

#ifndef SO_ATTACH_REUSEPORT_CBPF
#define SO_ATTACH_REUSEPORT_CBPF 51
#endif

namespace postern {

int steer_udp(int fd, int workers) {
  // Offsets are those behind the UDP header. A load outside of the datagram ends the program with
  // 0, which is the receptionist. Integers are little-endian, so the first byte has the low bits.
  constexpr uint8_t RESPONSE = 2;
  constexpr uint8_t COOKIE_REPLY = 3;
  constexpr uint8_t TRANSPORT_DATA = 4;
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TRANSPORT_DATA, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, COOKIE_REPLY, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RESPONSE, 3, 0),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 4),
      BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 8),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, MAX_WORKERS - 1),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, static_cast<uint32_t>(workers), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_A, 0),
  };
  const sock_fprog program = {sizeof code / sizeof *code, code};
  const int result =
      setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program);
  return result < 0 ? -errno : 0;
}

int lock_port(uint16_t port) {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  // The first byte is zero: an abstract name, which ends with the process.
  const int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "postern-udp-%u", port);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                           static_cast<size_t>(length));
  if (bind(fd, reinterpret_cast<sockaddr*>(&name), size) < 0) {
    const int error = errno;
    close(fd);
    return -error;
  }
  return fd;
}

}  // namespace postern
