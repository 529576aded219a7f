// A kernel that refuses on request. The addon's objects are linked once more with these functions
// in the place of its system calls (ld --wrap); a file that is shared with the test says what
// becomes of each call, and counts it. Whatever is not refused goes to the real kernel.

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

namespace {

// As failing-kernel.ts writes it, one for each kind of call.
struct Rule {
  int32_t error;       // errno, 0: nothing is refused
  int32_t times;       // so often, negative: always
  int32_t trains;      // 1: only trains (UDP_SEGMENT)
  int32_t larger;      // only what has more bytes
  int32_t most;        // messages that one call takes, or bytes that one read gives; 0: all
  int32_t flags;       // set in what is received
  int32_t afterwards;  // errno of one more refusal, of anything, after those; 0: none
  int32_t calls;       // counted here
  int32_t tried;       // trains that were tried, counted here
};
enum { SEND, RECEIVE, READ, WRITE, RULES };

Rule* map_rules() {
  const int fd = open(getenv("FAILING_KERNEL"), O_RDWR | O_CLOEXEC);
  void* rules = mmap(nullptr, RULES * sizeof(Rule), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return static_cast<Rule*>(rules);
}

Rule* const rules = map_rules();

bool is_train(const msghdr& header) {
  if (header.msg_control == nullptr) return false;
  auto* message = const_cast<msghdr*>(&header);
  for (cmsghdr* c = CMSG_FIRSTHDR(message); c != nullptr; c = CMSG_NXTHDR(message, c))
    if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_SEGMENT) return true;
  return false;
}

bool refuses(const Rule& rule, size_t bytes, bool train) {
  return rule.error != 0 && rule.times != 0 && bytes > static_cast<size_t>(rule.larger) &&
         (train || rule.trains == 0);
}

int refuse(Rule& rule) {
  errno = rule.error;
  if (rule.times > 0 && --rule.times == 0 && rule.afterwards != 0) {
    rule.error = rule.afterwards;
    rule.afterwards = rule.trains = 0;
    rule.times = 1;
  }
  return -1;
}

unsigned at_most(const Rule& rule, unsigned count) {
  return rule.most > 0 && count > static_cast<unsigned>(rule.most) ? rule.most : count;
}

}  // namespace

extern "C" {

int __real_sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags);
ssize_t __real_sendmsg(int fd, const msghdr* message, int flags);
int __real_recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout);
ssize_t __real_read(int fd, void* buffer, size_t length);
ssize_t __real_writev(int fd, const iovec* parts, int count);

// As the real one: what comes before a message that is refused is sent, and that is all it says.
int __wrap_sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  Rule& rule = rules[SEND];
  rule.calls++;
  unsigned taken = 0;
  for (; taken < at_most(rule, count); taken++) {
    const msghdr& header = messages[taken].msg_hdr;
    const bool train = is_train(header);
    const bool refused = refuses(rule, header.msg_iov->iov_len, train);
    if (refused && taken > 0) break;
    rule.tried += train;
    if (refused) return refuse(rule);
  }
  return __real_sendmmsg(fd, messages, taken, flags);
}

ssize_t __wrap_sendmsg(int fd, const msghdr* message, int flags) {
  Rule& rule = rules[SEND];
  rule.calls++;
  const bool train = is_train(*message);
  rule.tried += train;
  if (refuses(rule, message->msg_iov->iov_len, train)) return refuse(rule);
  return __real_sendmsg(fd, message, flags);
}

int __wrap_recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout) {
  Rule& rule = rules[RECEIVE];
  rule.calls++;
  if (refuses(rule, SIZE_MAX, false)) return refuse(rule);
  const int received = __real_recvmmsg(fd, messages, at_most(rule, count), flags, timeout);
  for (int i = 0; i < received; i++)
    if (messages[i].msg_len > static_cast<unsigned>(rule.larger))
      messages[i].msg_hdr.msg_flags |= rule.flags;
  return received;
}

ssize_t __wrap_read(int fd, void* buffer, size_t length) {
  Rule& rule = rules[READ];
  rule.calls++;
  if (refuses(rule, SIZE_MAX, false)) return refuse(rule);
  return __real_read(fd, buffer, at_most(rule, static_cast<unsigned>(length)));
}

ssize_t __wrap_writev(int fd, const iovec* parts, int count) {
  Rule& rule = rules[WRITE];
  rule.calls++;
  size_t bytes = 0;
  for (int i = 0; i < count; i++) bytes += parts[i].iov_len;
  if (refuses(rule, bytes, false)) return refuse(rule);
  return __real_writev(fd, parts, count);
}

}
