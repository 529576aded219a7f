// Implements coalesce.h. A turn costs more than a small packet: a thread wakes up, asks each
// descriptor and sends. Where small packets come fast, a short pause lets several of them share one
// turn. Whether a pause pays is learnt: one that brings too few packets is not tried again for some
// turns, each time for twice as many, so that pauses cost a slow tunnel nothing.

#include "coalesce.h"

#include <sys/prctl.h>
#include <time.h>

namespace postern {

namespace {

constexpr long PAUSE_NS = 100'000;
// The kernel adds up to 50 µs to a sleep that nobody asked to be exact.
constexpr unsigned long TIMER_SLACK_NS = 1'000;
// A packet of more bytes, on average, costs more than its turn; and TCP is slower after a pause.
constexpr size_t SMALL_BYTES = 256;
// Of how many packets the average is: TCP has turns with acknowledgements alone.
constexpr size_t RECENT_PACKETS = 512;
// A turn with fewer packets says nothing of the rate.
constexpr int SEVERAL_PACKETS = 2;
// So many packets in the turn after a pause are worth it: 46,000 a second.
constexpr int WORTH_PACKETS = 6;
// So many packets share the cost of their turn without a pause.
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
