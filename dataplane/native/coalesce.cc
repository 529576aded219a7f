// Implements coalesce.h. A turn costs more than a small packet: a thread wakes up, asks each
// descriptor and sends. Where small packets come fast, a short pause lets several of them share one
// turn. After a pause that brought too few packets, the next turns have none: one turn, then two,
// four and so on. So a slow tunnel hardly ever waits.

#include "coalesce.h"

#include <sys/prctl.h>
#include <time.h>

namespace postern {

namespace {

constexpr long PAUSE_NS = 100'000;
// The kernel adds up to 50 µs to a sleep that nobody asked to be exact.
constexpr unsigned long TIMER_SLACK_NS = 1'000;
// Larger packets, on average, cost so much themselves that a shared turn saves little.
constexpr size_t SMALL_BYTES = 256;
// The average is that of about so many packets, because TCP has turns of acknowledgements alone.
constexpr size_t RECENT_PACKETS = 512;
// A turn with fewer packets says nothing of the rate.
constexpr int SEVERAL_PACKETS = 2;
// A pause was worth it if the turn after it has so many packets: about 46,000 a second.
constexpr int WORTH_PACKETS = 6;
// A turn of so many packets is shared well enough without a pause.
constexpr int MANY_PACKETS = 48;
constexpr int SKIPPED_TURNS_MAX = 256;

void pause() {
  static thread_local bool is_exact = false;
  if (!is_exact) is_exact = prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS) == 0;
  const timespec time = {0, PAUSE_NS};
  nanosleep(&time, nullptr);
}

}  // namespace

void Coalescer::count(int packets, size_t bytes) {
  packets_ += packets;
  recent_packets_ += static_cast<size_t>(packets);
  recent_bytes_ += bytes;
  while (recent_packets_ > RECENT_PACKETS) {
    recent_packets_ /= 2;
    recent_bytes_ /= 2;
  }
}

void Coalescer::end_turn(bool may_wait) {
  if (has_paused_) learn();
  has_paused_ = may_wait && pays();
  packets_ = 0;
  if (has_paused_) pause();
}

// Notes what the turn after a pause has brought.
void Coalescer::learn() {
  if (is_small() && packets_ >= WORTH_PACKETS) {
    penalty_ = 1;
  } else {
    skipped_ = penalty_;
    if (penalty_ < SKIPPED_TURNS_MAX) penalty_ *= 2;
  }
}

bool Coalescer::pays() {
  if (!is_small() || packets_ < SEVERAL_PACKETS || packets_ >= MANY_PACKETS) return false;
  if (skipped_ == 0) return true;
  skipped_--;
  return false;
}

bool Coalescer::is_small() const { return recent_bytes_ <= recent_packets_ * SMALL_BYTES; }

}  // namespace postern
