#pragma once
/// Arrays of numbers that go to others, and come back when nobody needs them any more.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace warpmer::cpu {

/// It lives as long as its arrays. Memory that is given back to the system with each array costs a third of
/// the time in which one is filled. Thread-safe.
class ArrayPool : public std::enable_shared_from_this<ArrayPool> {
 public:
  using Array = std::shared_ptr<std::uint64_t[]>;

  /// Keeps so many arrays that are not in use, at most.
  explicit ArrayPool(std::size_t most_idle) : most_idle_(most_idle) { idle_.reserve(most_idle); }

  /// Returns an array of `words` numbers, whatever they are.
  [[nodiscard]] Array take(std::size_t words) {
    std::unique_ptr<std::uint64_t[]> array = take_idle(words);
    if (!array) array = std::make_unique_for_overwrite<std::uint64_t[]>(words);
    return Array(array.release(),
                 [pool = shared_from_this(), words](std::uint64_t* p) { pool->give_back(p, words); });
  }

 private:
  struct IdleArray {
    std::size_t words;
    std::unique_ptr<std::uint64_t[]> array;
  };

  std::unique_ptr<std::uint64_t[]> take_idle(std::size_t words) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                    [&](const IdleArray& idle) { return idle.words == words; });
    if (found == idle_.rend()) return nullptr;
    std::swap(*found, idle_.back());
    std::unique_ptr<std::uint64_t[]> array = std::move(idle_.back().array);
    idle_.pop_back();
    return array;
  }
  void give_back(std::uint64_t* array, std::size_t words) noexcept {
    IdleArray idle{words, std::unique_ptr<std::uint64_t[]>(array)};
    const std::lock_guard lock(mutex_);
    if (idle_.size() < most_idle_) idle_.push_back(std::move(idle));
  }

  const std::size_t most_idle_;
  std::mutex mutex_;  ///< guards what follows
  std::vector<IdleArray> idle_;
};

}  // namespace warpmer::cpu
