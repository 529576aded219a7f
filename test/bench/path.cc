// A path between two hosts that loses packets and delays them, by a seed: path.ts compiles it. Each
// end is a TUN in a network namespace, `path NAMESPACE NAME NAMESPACE NAME`. A line of the input is
// a path, `SEED DELAY_US LOST LATE LATE_US`: packets come out DELAY_US later, LOST in a million not
// at all, LATE in a million LATE_US later than others; the same packets of each direction for each
// seed. It answers `ready`, and forgets what is on the way. The first line opens the ends.

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace {

constexpr size_t PACKET_MAX = 1500;
// What one end gives before the other one has its turn.
constexpr int AT_ONCE = 64;
// More than this is on no path: 200 ms at 1 Gbit/s.
constexpr size_t ON_THE_WAY_MAX = 16384;
constexpr uint32_t MILLION = 1000000;

struct Packet {
  int64_t at_us;
  std::vector<uint8_t> bytes;
};

// Numbers by chance, the same for each seed (splitmix64).
struct Dice {
  uint64_t state;
  bool is_one_of(uint32_t in_a_million) {
    uint64_t mixed = state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return (mixed ^ (mixed >> 31)) % MILLION < in_a_million;
  }
};

struct Settings {
  uint64_t seed;
  int64_t delay_us;
  uint32_t lost;
  uint32_t late;
  int64_t late_us;
};

// One direction. Late packets have a queue of their own, so that both are in order of time.
struct Direction {
  int from;
  int to;
  Dice losses;
  Dice delays;
  std::deque<Packet> usual;
  std::deque<Packet> late;

  void begin(const Settings& settings, uint64_t number) {
    losses.state = settings.seed * 4 + number;
    delays.state = settings.seed * 4 + 2 + number;
    usual.clear();
    late.clear();
  }

  void take(const Settings& settings, int64_t now_us) {
    uint8_t bytes[PACKET_MAX];
    for (int i = 0; i < AT_ONCE; i++) {
      const ssize_t length = read(from, bytes, sizeof bytes);
      if (length <= 0) return;
      const bool is_lost = losses.is_one_of(settings.lost);
      const bool is_late = delays.is_one_of(settings.late);
      auto& queue = is_late ? late : usual;
      if (is_lost || queue.size() >= ON_THE_WAY_MAX) continue;
      const int64_t at_us = now_us + settings.delay_us + (is_late ? settings.late_us : 0);
      queue.push_back({at_us, {bytes, bytes + length}});
    }
  }

  void give(std::deque<Packet>& queue, int64_t now_us) const {
    while (!queue.empty() && queue.front().at_us <= now_us) {
      // A host whose queue is full loses the packet, as hosts do.
      const auto& bytes = queue.front().bytes;
      if (write(to, bytes.data(), bytes.size()) < 0 && errno == EBADFD) exit(1);
      queue.pop_front();
    }
  }

  void give(int64_t now_us) {
    give(usual, now_us);
    give(late, now_us);
  }

  int64_t next_us() const {
    int64_t next = INT64_MAX;
    for (const auto* queue : {&usual, &late})
      if (!queue->empty() && queue->front().at_us < next) next = queue->front().at_us;
    return next;
  }
};

[[noreturn]] void fail(const char* what) {
  perror(what);
  exit(1);
}

int open_tun(const char* name_space, const char* name) {
  const std::string path = std::string("/run/netns/") + name_space;
  const int entered = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (entered < 0 || setns(entered, CLONE_NEWNET) != 0) fail(path.c_str());
  close(entered);
  const int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ifreq request{};
  strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (tun < 0 || ioctl(tun, TUNSETIFF, &request) != 0) fail(name);
  return tun;
}

int64_t now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) return 2;
  const int left = open_tun(words[1], words[2]);
  const int right = open_tun(words[3], words[4]);
  Direction directions[2] = {{left, right, {}, {}, {}, {}}, {right, left, {}, {}, {}, {}}};
  Settings settings{};
  puts("open");
  fflush(stdout);
  for (;;) {
    pollfd files[3] = {{left, POLLIN, 0}, {right, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    int64_t next = INT64_MAX;
    for (const auto& direction : directions) next = std::min(next, direction.next_us());
    const int64_t wait = next == INT64_MAX ? MILLION : std::max<int64_t>(0, next - now_us());
    const timespec timeout = {wait / MILLION, wait % MILLION * 1000};
    ppoll(files, 3, &timeout, nullptr);
    if (files[2].revents != 0) {
      char line[256];
      const ssize_t length = read(STDIN_FILENO, line, sizeof line - 1);
      if (length <= 0) return 0;
      line[length] = 0;
      if (sscanf(line, "%lu %ld %u %u %ld", &settings.seed, &settings.delay_us, &settings.lost,
                 &settings.late, &settings.late_us) != 5)
        return 2;
      for (int i = 0; i < 2; i++) directions[i].begin(settings, i);
      puts("ready");
      fflush(stdout);
    }
    for (auto& direction : directions) {
      direction.take(settings, now_us());
      direction.give(now_us());
    }
  }
}
