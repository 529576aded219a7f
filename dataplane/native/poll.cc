// Waits for a datagram, a packet, an event of the host's sockets, a wake by the main thread, or a
// deadline.

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <cmath>

#include "engine.h"

namespace postern {

namespace {

// The longest wait; also the wait for a timeout that is not a number. The caller then waits again.
constexpr double WAIT_MS_MAX = 3600 * 1000;

}  // namespace

int poll_events(Engine& engine, double timeout_ms) {
  pollfd fds[5];
  int bits[5];
  nfds_t count = 0;
  const auto add = [&](int fd, int bit) {
    if (fd < 0) return;
    fds[count] = {fd, POLLIN, 0};
    bits[count++] = bit;
  };
  add(engine.udp4, EVENT_UDP);
  add(engine.udp6, EVENT_UDP);
  if (!engine.tun_gone) add(engine.tun, EVENT_TUN);
  add(engine.wake, EVENT_WAKE);
  add(engine.sockets, EVENT_SOCKETS);
  timespec timeout;
  timespec* limit = nullptr;
  if (!(timeout_ms < 0)) {
    const double wait_ms = timeout_ms < WAIT_MS_MAX ? timeout_ms : WAIT_MS_MAX;
    const double seconds = std::floor(wait_ms / 1000);
    timeout.tv_sec = static_cast<time_t>(seconds);
    timeout.tv_nsec = static_cast<long>((wait_ms - seconds * 1000) * 1e6);
    limit = &timeout;
  }
  engine.coalescer.end_turn(timeout_ms != 0 && !has_handed(engine));
  // Whoever hands something over wakes this worker only while it says that it sleeps.
  if (timeout_ms != 0) set_sleeping(engine, true);
  if (has_handed(engine)) {
    timeout = {};
    limit = &timeout;
  }
  const int ready = ppoll(fds, count, limit, nullptr);
  set_sleeping(engine, false);
  int events = has_handed(engine) ? EVENT_HANDED : 0;
  engine.udp4_readable = false;
  engine.udp6_readable = false;
  for (nfds_t i = 0; ready > 0 && i < count; i++) {
    if (fds[i].revents == 0) continue;
    events |= bits[i];
    if (fds[i].fd == engine.udp4) engine.udp4_readable = true;
    if (fds[i].fd == engine.udp6) engine.udp6_readable = true;
    if (bits[i] == EVENT_TUN && (fds[i].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0 &&
        (fds[i].revents & POLLIN) == 0) {
      engine.tun_gone = true;
    }
    if (bits[i] == EVENT_WAKE) {
      uint64_t drained;
      // Reading resets the eventfd; it does not matter how often it was written.
      if (read(engine.wake, &drained, sizeof drained) < 0) continue;
    }
  }
  // A read may have noticed it before.
  if (engine.tun_gone && !engine.tun_gone_reported) {
    engine.tun_gone_reported = true;
    events |= EVENT_TUN_GONE;
  }
  return events;
}

}  // namespace postern
