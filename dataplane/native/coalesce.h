// Lets small packets share a turn, as network cards coalesce interrupts; coalesce.cc.

#ifndef POSTERN_COALESCE_H
#define POSTERN_COALESCE_H

#include <cstddef>

namespace postern {

// Knows what a thread has read in each turn, and pauses before a wait where that pays.
class Coalescer {
 public:
  // Counts packets that were read in this turn.
  void count(int packets, size_t bytes);
  // Ends a turn, and pauses where small packets come fast. `may_wait` is false where other work is
  // due: then there is no pause.
  void end_turn(bool may_wait);

 private:
  void learn();
  bool pays();
  bool is_small() const;

  // The packets of this turn.
  int packets_ = 0;
  // Those of the last turns, the older the less they count.
  size_t recent_packets_ = 0;
  size_t recent_bytes_ = 0;
  bool has_paused_ = false;
  // How many turns pass without a pause, and how many after the next useless one.
  int skipped_ = 0;
  int penalty_ = 1;
};

}  // namespace postern

#endif
