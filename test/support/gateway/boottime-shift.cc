// Makes one process (LD_PRELOAD) believe that its machine was suspended: CLOCK_BOOTTIME is ahead by
// the seconds in the file that BOOTTIME_SHIFT_FILE names. Every other clock is left alone.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

const volatile int64_t* map_seconds() {
  static const int64_t none = 0;
  const char* name = getenv("BOOTTIME_SHIFT_FILE");
  const int fd = name == nullptr ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return &none;
  void* seconds = mmap(nullptr, sizeof none, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  return seconds == MAP_FAILED ? &none : static_cast<int64_t*>(seconds);
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  using Function = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "clock_gettime"));
  static const volatile int64_t* const seconds = map_seconds();
  const int result = real(clock, now);
  if (result == 0 && clock == CLOCK_BOOTTIME) now->tv_sec += *seconds;
  return result;
}
