#pragma once
/// Input of which several threads make something, in order.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "backend/lookup/lookup.h"
#include "base/ordered_stage.h"
#include "base/thread_team.h"

namespace warpmer::cli {

/// The threads that work in order.
struct OrderedTeam {
  explicit OrderedTeam(unsigned threads, std::uint64_t ahead = kResultsAhead)
      : callers(threads), window(ahead * threads) {}
  /// As many as the lookup wants. It is cancelled with the input.
  OrderedTeam(const backend::Lookup& asked, unsigned threads)
      : callers(asked.callers(threads)),
        window(std::max<std::uint64_t>(callers, kResultsAhead * threads)),
        lookup(&asked) {}

  unsigned callers;
  std::uint64_t window;  ///< of OrderedStage
  const backend::Lookup* lookup = nullptr;
};

/// Each thread has a copy of `make`, and calls it for every part that it gets by `input.next(part)`. The
/// results go to `consume(result)`, in order of the parts' ordinals. The first exception ends all.
template <class Part, class Input, class Make, class Consume>
void work_in_order(Input& input, const OrderedTeam& team, const Make& make, Consume&& consume) {
  OrderedStage<std::invoke_result_t<Make&, const Part&>> ordered(team.window, consume);
  const auto work = [&](unsigned /*thread*/) {
    Make make_result = make;
    Part part;
    while (input.next(part)) ordered.put(part.ordinal, make_result(part));
  };
  run_team(team.callers, work, [&] {
    input.cancel();
    if (team.lookup != nullptr) team.lookup->cancel();
    ordered.stop();
  });
}

}  // namespace warpmer::cli
