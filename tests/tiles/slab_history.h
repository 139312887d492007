#pragma once
/// Are the answers to operations that ran side by side those of some order of them, one after another, in
/// which none comes before one that had ended when it began? Histories are checked key by key: objects that
/// are linearizable each are so together (Herlihy and Wing 1990). The search is Wing and Gong's, with a
/// memory of failed attempts.

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "tiles/slab_ops.h"

namespace warpmer::tests {

struct SlabEvent {
  SlabRequest request;
  SlabAnswer answer;
};

/// The state of one key: its count, or its values, first to last.
using KeyState = std::vector<std::uint32_t>;

/// Applies a request to a key; returns false if the answer does not fit.
inline bool apply_to_counts(const SlabEvent& event, KeyState& state) {
  const std::uint32_t count = state.empty() ? 0 : state[0];
  std::uint32_t after = count;
  const SlabAnswer& answer = event.answer;
  bool right = answer.there == (count != 0 ? 1u : 0u);
  switch (event.request.operation) {
    case SlabOperation::insert:
      after = count + event.request.n;
      break;
    case SlabOperation::replace:
      after = event.request.n;
      break;
    case SlabOperation::subtract:
      right = right && answer.value == count && answer.placed == (count >= event.request.n ? 1u : 0u);
      after = answer.placed != 0 ? count - event.request.n : count;
      break;
    case SlabOperation::erase:
      right = right && answer.value == count;
      after = 0;
      break;
    default:
      right = right && answer.value == count;
      break;
  }
  state.clear();
  if (after != 0) state.push_back(after);
  return right;
}
inline bool apply_to_elements(const SlabEvent& event, KeyState& state) {
  const SlabAnswer& answer = event.answer;
  if (event.request.operation == SlabOperation::insert) {
    state.push_back(event.request.n);
    return true;
  }
  // The other operations return the first element.
  if (answer.there != (state.empty() ? 0u : 1u)) return false;
  if (!state.empty() && answer.value != state[0]) return false;
  if (event.request.operation == SlabOperation::replace) {
    if (state.empty()) state.push_back(0);
    state[0] = event.request.n;
  } else if (event.request.operation == SlabOperation::erase && !state.empty()) {
    state.erase(state.begin());
  }
  return true;
}

/// Tells whether the history of one key, at most 64 events, is linearizable, and can end with `end`.
class HistoryOfKey {
 public:
  HistoryOfKey(SlabKind kind, std::vector<SlabEvent> events, KeyState end)
      : kind_(kind), events_(std::move(events)), end_(std::move(end)) {}

  bool is_linearizable() { return events_.size() <= 64 && extend(0, {}); }

 private:
  bool extend(std::uint64_t done, const KeyState& state) {
    const std::uint64_t all =
        events_.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << events_.size()) - 1;
    if (done == all) return state == end_;
    if (!tried_.insert({done, state}).second) return false;
    std::uint64_t first_end = UINT64_MAX;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if ((done >> i & 1) == 0) first_end = std::min(first_end, events_[i].answer.ended);
    }
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if ((done >> i & 1) != 0 || events_[i].answer.began > first_end) continue;
      KeyState next = state;
      const bool right =
          kind_ == SlabKind::counts ? apply_to_counts(events_[i], next) : apply_to_elements(events_[i], next);
      if (right && extend(done | std::uint64_t{1} << i, next)) return true;
    }
    return false;
  }

  SlabKind kind_;
  std::vector<SlabEvent> events_;
  KeyState end_;
  std::set<std::pair<std::uint64_t, KeyState>> tried_;
};

}  // namespace warpmer::tests
