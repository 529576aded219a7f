// Offers the operating system to JavaScript: interfaces, sockets, descriptors, the clock. index.ts
// describes each function.

#include <arpa/inet.h>
#include <fcntl.h>
#include <link.h>
#include <linux/sock_diag.h>
#include <malloc.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "call.h"
#include "contract.h"
#include "system.h"

namespace postern {

namespace {

bool name_of(Call& call, int i, char* name, size_t size) {
  size_t length = 0;
  // Node-API cuts a text that is too long, and in C a text ends at its first zero byte. The rest
  // could be the name of another interface.
  if (napi_get_value_string_utf8(call.env, call.values[i], nullptr, 0, &length) != napi_ok ||
      length == 0 || length >= size ||
      napi_get_value_string_utf8(call.env, call.values[i], name, size, &length) != napi_ok ||
      strlen(name) != length)
    call.refuse("an interface name of 1 to 15 characters is expected");
  return !call.failed;
}

napi_value on_open_tun(napi_env env, napi_callback_info info) {
  Call call(env, info);
  char name[16];
  const bool virtio_header = call.boolean(1);
  const bool has_queues = call.flag(2);
  if (!name_of(call, 0, name, sizeof name) || call.failed) return nullptr;
  TunFeatures features = {};
  const int fd = open_tun(name, virtio_header, has_queues, features);
  if (throws(call, fd, "opening the TUN")) return nullptr;
  napi_value result = nullptr;
  napi_create_object(env, &result);
  set(env, result, "fd", make_integer(env, fd));
  set(env, result, "takesUdp", make_boolean(env, features.udp));
  return result;
}

napi_value on_set_queue(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int32_t fd = call.integer(0);
  const bool is_used = call.boolean(1);
  if (!call.failed) throws(call, set_queue(fd, is_used), "changing a queue of the TUN");
  return nullptr;
}

napi_value on_set_link(napi_env env, napi_callback_info info) {
  Call call(env, info);
  char name[16];
  const int32_t mtu = call.integer(1, 1, 65535);
  if (!name_of(call, 0, name, sizeof name) || call.failed) return nullptr;
  throws(call, set_link(name, static_cast<uint32_t>(mtu)), "bringing the TUN up");
  return nullptr;
}

napi_value on_is_link_up(napi_env env, napi_callback_info info) {
  Call call(env, info);
  char name[16];
  if (!name_of(call, 0, name, sizeof name) || call.failed) return nullptr;
  const int result = is_link_up(name);
  return throws(call, result, "asking whether the TUN is up") ? nullptr
                                                              : make_boolean(env, result == 1);
}

napi_value on_add_address(napi_env env, napi_callback_info info) {
  Call call(env, info);
  char name[16];
  const Bytes address = bytes_of(call, 1);
  if (!call.failed && address.length != 4 && address.length != 16)
    call.refuse("an address of 4 or 16 bytes is expected");
  const int32_t prefix_bits = call.integer(2, 0, address.length == 4 ? 32 : 128);
  if (call.failed || !name_of(call, 0, name, sizeof name)) return nullptr;
  throws(call,
         add_address(name, address.data, address.length,
                              static_cast<uint8_t>(prefix_bits)),
         "giving the TUN its address");
  return nullptr;
}

napi_value on_change_route(napi_env env, napi_callback_info info) {
  Call call(env, info);
  char name[16];
  const Bytes network = bytes_of(call, 1);
  if (!call.failed && network.length != 4 && network.length != 16)
    call.refuse("a network of 4 or 16 bytes is expected");
  const int32_t prefix_bits = call.integer(2, 0, network.length == 4 ? 32 : 128);
  const bool is_added = call.boolean(3);
  if (call.failed || !name_of(call, 0, name, sizeof name)) return nullptr;
  throws(call,
         change_route(name, network.data, network.length, static_cast<uint8_t>(prefix_bits),
                      is_added),
         is_added ? "adding a route" : "removing a route");
  return nullptr;
}

napi_value on_open_udp(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const bool is_ipv6 = call.boolean(0);
  const int32_t port = call.integer(1, 0, 65535);
  const bool is_shared = call.flag(2);
  if (call.failed) return nullptr;
  const int fd = open_udp(is_ipv6, static_cast<uint16_t>(port), is_shared);
  return throws(call, fd, "opening the UDP socket") ? nullptr : make_integer(env, fd);
}

napi_value on_bound_port(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int32_t fd = call.integer(0);
  if (call.failed) return nullptr;
  const int port = bound_port(fd);
  if (throws(call, port, "asking for the UDP port")) return nullptr;
  return make_integer(env, port);
}

napi_value on_steer_udp(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int32_t fd = call.integer(0);
  const int32_t workers = call.integer(1, 1, MAX_WORKERS);
  if (!call.failed) throws(call, steer_udp(fd, workers), "leading datagrams to workers");
  return nullptr;
}

napi_value on_lock_port(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int32_t port = call.integer(0, 1, 65535);
  if (call.failed) return nullptr;
  const int fd = lock_port(static_cast<uint16_t>(port));
  return throws(call, fd, "locking the UDP port") ? nullptr : make_integer(env, fd);
}

napi_value on_open_wake(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return throws(call, fd < 0 ? -errno : fd, "opening an eventfd") ? nullptr
                                                                  : make_integer(env, fd);
}

napi_value on_open_pair(napi_env env, napi_callback_info info) {
  Call call(env, info);
  int fds[2];
  const int made = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds);
  if (throws(call, made < 0 ? -errno : 0, "opening a pair of sockets")) return nullptr;
  napi_value result = nullptr;
  napi_create_array_with_length(env, 2, &result);
  napi_set_element(env, result, 0, make_integer(env, fds[0]));
  napi_set_element(env, result, 1, make_integer(env, fds[1]));
  return result;
}

napi_value on_wake(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int32_t fd = call.integer(0);
  const uint64_t one = 1;
  // A full counter means that the worker was woken already.
  if (!call.failed && write(fd, &one, sizeof one) < 0 && errno != EAGAIN)
    throws(call, -errno, "waking the worker");
  return nullptr;
}

napi_value on_close_fd(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int32_t fd = call.integer(0);
  if (!call.failed) close(fd);
  return nullptr;
}

// Lets a program that this process becomes (execve(2)) have a descriptor.
napi_value on_keep_on_exec(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int32_t fd = call.integer(0);
  if (!call.failed) throws(call, fcntl(fd, F_SETFD, 0) < 0 ? -errno : 0, "keeping a descriptor");
  return nullptr;
}

// Gives the signals that node ignores their default again; a program that this process becomes
// would ignore them too, and pasta refuses to start so.
napi_value on_default_signals(napi_env, napi_callback_info) {
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  return nullptr;
}

// How many datagrams a socket has lost because it had no room.
napi_value on_socket_losses(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int32_t fd = call.integer(0);
  if (call.failed) return nullptr;
  uint32_t memory[SK_MEMINFO_VARS] = {};
  socklen_t length = sizeof memory;
  const int result = getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &length);
  if (throws(call, result < 0 ? -errno : 0, "reading what a socket has lost")) return nullptr;
  return make_number(env, memory[SK_MEMINFO_DROPS]);
}

napi_value on_ask_netfilter(napi_env env, napi_callback_info info) {
  Call call(env, info);
  // 10,000 networks behind devices are half a megabyte.
  const Bytes request = bytes_up_to(call, 0, 1 << 24);
  if (call.failed) return nullptr;
  std::vector<uint8_t> answers;
  const int result = ask_netfilter(request.data, request.length, answers);
  if (throws(call, result, "asking the packet filter of the kernel")) return nullptr;
  napi_value buffer = nullptr;
  napi_create_buffer_copy(env, answers.size(), answers.data(), nullptr, &buffer);
  return buffer;
}

napi_value on_open_events(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const bool is_netfilter = call.boolean(0);
  if (call.failed) return nullptr;
  const int fd = open_events(is_netfilter);
  return throws(call, fd, "opening a socket for changes of the network") ? nullptr
                                                                         : make_integer(env, fd);
}

napi_value on_take_events(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int32_t fd = call.integer(0);
  if (call.failed) return nullptr;
  const int result = take_events(fd);
  return throws(call, result, "hearing changes of the network") ? nullptr
                                                                : make_boolean(env, result == 1);
}

// Finds where a connection was bound for before the kernel redirected it to this socket. Where it
// was not redirected, the kernel knows nothing, or names the socket itself.
bool original_destination(int fd, sockaddr_storage& name) {
  sockaddr_storage own = {};
  socklen_t length = sizeof own;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length) < 0) return false;
  const bool is_ipv6 = own.ss_family == AF_INET6;
  socklen_t found = is_ipv6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  // SO_ORIGINAL_DST of linux/netfilter_ipv4.h, and IP6T_SO_ORIGINAL_DST.
  if (getsockopt(fd, is_ipv6 ? SOL_IPV6 : SOL_IP, 80, &name, &found) < 0) return false;
  if (!is_ipv6) {
    const auto& to = reinterpret_cast<const sockaddr_in&>(name);
    const auto& at = reinterpret_cast<const sockaddr_in&>(own);
    return to.sin_port != at.sin_port || to.sin_addr.s_addr != at.sin_addr.s_addr;
  }
  const auto& to = reinterpret_cast<const sockaddr_in6&>(name);
  const auto& at = reinterpret_cast<const sockaddr_in6&>(own);
  return to.sin6_port != at.sin6_port ||
         memcmp(&to.sin6_addr, &at.sin6_addr, sizeof to.sin6_addr) != 0;
}

napi_value on_original_destination(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const int32_t fd = call.integer(0);
  if (call.failed) return nullptr;
  sockaddr_storage name = {};
  napi_value result = nullptr;
  if (!original_destination(fd, name)) {
    napi_get_null(env, &result);
    return result;
  }
  char text[INET6_ADDRSTRLEN] = {};
  const bool is_ipv6 = name.ss_family == AF_INET6;
  const auto& in6 = reinterpret_cast<const sockaddr_in6&>(name);
  const auto& in4 = reinterpret_cast<const sockaddr_in&>(name);
  const void* bytes = is_ipv6 ? static_cast<const void*>(&in6.sin6_addr) : &in4.sin_addr;
  inet_ntop(name.ss_family, bytes, text, sizeof text);
  napi_value address = nullptr;
  napi_create_object(env, &result);
  napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &address);
  set(env, result, "address", address);
  set(env, result, "port", make_integer(env, ntohs(is_ipv6 ? in6.sin6_port : in4.sin_port)));
  return result;
}

napi_value on_boot_time(napi_env env, napi_callback_info) {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return make_number(env, static_cast<double>(now.tv_sec) * 1000 +
                              static_cast<double>(now.tv_nsec) / 1e6);
}

// sched_setattr(2); the C library has no wrapper. The kernel's struct, as of Linux 5.3.
struct SchedulingAttributes {
  uint32_t size;
  uint32_t policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime;
  uint64_t deadline;
  uint64_t period;
  uint32_t util_min;
  uint32_t util_max;
};

// The shortest time slice that a thread may ask for.
constexpr uint64_t SHORT_SLICE_NS = 100'000;

// Asks for a short time slice for this thread: it runs sooner after it wakes, and not more in all
// (EEVDF, since Linux 6.12). An older kernel does nothing.
napi_value on_use_short_slices(napi_env env, napi_callback_info) {
  SchedulingAttributes attributes = {};
  attributes.size = sizeof attributes;
  const long thread = 0;
  if (syscall(SYS_sched_getattr, thread, &attributes, sizeof attributes, 0) != 0)
    return make_boolean(env, false);
  attributes.size = sizeof attributes;
  attributes.runtime = SHORT_SLICE_NS;
  return make_boolean(env, syscall(SYS_sched_setattr, thread, &attributes, 0) == 0);
}

// Sends one datagram to a socket in the file system, or to an abstract socket where the path begins
// with @.
int send_to_path(const char* path, size_t path_length, const uint8_t* bytes, size_t length) {
  sockaddr_un to = {};
  if (path_length == 0 || path_length >= sizeof to.sun_path) return -EINVAL;
  to.sun_family = AF_UNIX;
  memcpy(to.sun_path, path, path_length);
  if (path[0] == '@') to.sun_path[0] = 0;
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  const socklen_t size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_length);
  const ssize_t sent =
      sendto(fd, bytes, length, MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), size);
  const int result = sent < 0 ? -errno : 0;
  close(fd);
  return result;
}

napi_value on_notify(napi_env env, napi_callback_info info) {
  Call call(env, info);
  const Bytes path = bytes_of(call, 0);
  const Bytes message = bytes_of(call, 1);
  if (call.failed) return nullptr;
  throws(call,
         send_to_path(reinterpret_cast<const char*>(path.data), path.length, message.data,
                      message.length),
         "telling the supervisor");
  return nullptr;
}

napi_value on_clock_is_synchronized(napi_env env, napi_callback_info info) {
  Call call(env, info);
  timex state = {};
  const int result = adjtimex(&state);
  if (throws(call, result < 0 ? -errno : 0, "asking for the state of the clock")) return nullptr;
  return make_boolean(env, result != TIME_ERROR);
}

// Gives what malloc holds and nobody uses back to the kernel (malloc_trim(3)). The C libraries
// without this function keep little.
napi_value on_release_memory(napi_env, napi_callback_info) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  return nullptr;
}

// Forgets what is mapped from a file and never written: the kernel reads it again. Memory of
// another kind stays, because Node can have moved its code there (--use-largepages).
void forget_file_pages(size_t begin, size_t end) {
  FILE* maps = fopen("/proc/self/maps", "re");
  if (maps == nullptr) return;
  char line[4352];
  while (fgets(line, sizeof line, maps) != nullptr) {
    size_t from = 0;
    size_t to = 0;
    unsigned long inode = 0;
    char rights[5] = {};
    if (sscanf(line, "%zx-%zx %4s %*x %*x:%*x %lu", &from, &to, rights, &inode) != 4) continue;
    if (inode == 0 || rights[1] == 'w') continue;
    from = std::max(from, begin);
    to = std::min(to, end);
    if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  }
  fclose(maps);
}

// Called with the program itself first (dl_iterate_phdr(3)).
int forget_pages(dl_phdr_info* program, size_t, void*) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < program->dlpi_phnum; i++) {
    const ElfW(Phdr)& segment = program->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const size_t begin = (program->dlpi_addr + segment.p_vaddr + page - 1) & ~(page - 1);
    const size_t end = (program->dlpi_addr + segment.p_vaddr + segment.p_filesz) & ~(page - 1);
    if (begin < end) forget_file_pages(begin, end);
  }
  return 1;
}

// Takes the code and the constants of Node out of this process; they stay in the page cache, and
// what is used again comes back page by page (madvise(2), MADV_DONTNEED). A start uses many more of
// them than a gateway that serves.
napi_value on_release_program(napi_env, napi_callback_info) {
  dl_iterate_phdr(forget_pages, nullptr);
  return nullptr;
}

}  // namespace

void define_system(napi_env env, napi_value exports) {
  define(env, exports, "openTun", on_open_tun, nullptr);
  define(env, exports, "setQueue", on_set_queue, nullptr);
  define(env, exports, "setLink", on_set_link, nullptr);
  define(env, exports, "isLinkUp", on_is_link_up, nullptr);
  define(env, exports, "addAddress", on_add_address, nullptr);
  define(env, exports, "changeRoute", on_change_route, nullptr);
  define(env, exports, "openUdp", on_open_udp, nullptr);
  define(env, exports, "boundPort", on_bound_port, nullptr);
  define(env, exports, "steerUdp", on_steer_udp, nullptr);
  define(env, exports, "lockPort", on_lock_port, nullptr);
  define(env, exports, "openWake", on_open_wake, nullptr);
  define(env, exports, "openPair", on_open_pair, nullptr);
  define(env, exports, "wake", on_wake, nullptr);
  define(env, exports, "closeFd", on_close_fd, nullptr);
  define(env, exports, "keepOnExec", on_keep_on_exec, nullptr);
  define(env, exports, "defaultSignals", on_default_signals, nullptr);
  define(env, exports, "socketLosses", on_socket_losses, nullptr);
  define(env, exports, "askNetfilter", on_ask_netfilter, nullptr);
  define(env, exports, "openEvents", on_open_events, nullptr);
  define(env, exports, "takeEvents", on_take_events, nullptr);
  define(env, exports, "originalDestination", on_original_destination, nullptr);
  define(env, exports, "bootTime", on_boot_time, nullptr);
  define(env, exports, "useShortSlices", on_use_short_slices, nullptr);
  define(env, exports, "notify", on_notify, nullptr);
  define(env, exports, "clockIsSynchronized", on_clock_is_synchronized, nullptr);
  define(env, exports, "releaseMemory", on_release_memory, nullptr);
  define(env, exports, "releaseProgram", on_release_program, nullptr);
}

}  // namespace postern
