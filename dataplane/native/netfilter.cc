// Talks to the packet filter of the kernel (nftables) over netlink, without the program nft: to
// start a program the kernel copies the page tables of this process, and packets wait meanwhile.

#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "system.h"

namespace postern {

namespace {

constexpr size_t ANSWERS_BYTES_MAX = 1 << 20;

void set(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof value);
}

int receive_all(int fd, std::vector<uint8_t>& answers) {
  for (;;) {
    const size_t at = answers.size();
    if (at > ANSWERS_BYTES_MAX) return -EOVERFLOW;
    answers.resize(at + 8192);
    const ssize_t got = recv(fd, answers.data() + at, 8192, MSG_DONTWAIT);
    answers.resize(at + (got < 0 ? 0 : static_cast<size_t>(got)));
    if (got < 0) return errno == EAGAIN ? 0 : -errno;
    if (got == 0) return 0;
  }
}

}  // namespace

int ask_netfilter(const uint8_t* request, size_t length, std::vector<uint8_t>& answers) {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
  if (fd < 0) return -errno;
  // The kernel takes a request whole, and a refusal repeats it unless it is capped.
  set(fd, SOL_SOCKET, SO_SNDBUFFORCE, static_cast<int>(2 * length + 65536));
  set(fd, SOL_NETLINK, NETLINK_CAP_ACK, 1);
  // The kernel has answered when `send` returns, so nothing waits here.
  int result = send(fd, request, length, 0) < 0 ? -errno : receive_all(fd, answers);
  close(fd);
  return result;
}

}  // namespace postern
