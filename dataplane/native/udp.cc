// Opening the UDP sockets.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "system.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace postern {

namespace {

constexpr int BUFFER_BYTES = 8 * 1024 * 1024;

bool set(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

}  // namespace

int open_udp(bool is_ipv6, uint16_t port, bool is_shared) {
  const int fd = socket(is_ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  // With enough rights the buffers may exceed the limit of the system; without them, the limit
  // applies.
  if (!set(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES))
    set(fd, SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES);
  if (!set(fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES))
    set(fd, SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES);
  set(fd, IPPROTO_UDP, UDP_GRO, 1);
  if (is_shared && !set(fd, SOL_SOCKET, SO_REUSEPORT, 1)) {
    const int error = errno;
    close(fd);
    return -error;
  }
  sockaddr_storage name = {};
  socklen_t name_bytes;
  if (is_ipv6) {
    set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
    set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DONT);
    auto& in = reinterpret_cast<sockaddr_in6&>(name);
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    name_bytes = sizeof in;
  } else {
    set(fd, IPPROTO_IP, IP_PKTINFO, 1);
    set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT);
    auto& in = reinterpret_cast<sockaddr_in&>(name);
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    name_bytes = sizeof in;
  }
  if (bind(fd, reinterpret_cast<sockaddr*>(&name), name_bytes) < 0) {
    const int error = errno;
    close(fd);
    return -error;
  }
  return fd;
}

int bound_port(int fd) {
  sockaddr_storage name = {};
  socklen_t length = sizeof name;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) < 0) return -errno;
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(name).sin6_port
                                          : reinterpret_cast<sockaddr_in&>(name).sin_port);
}

}  // namespace postern
