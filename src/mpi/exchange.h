#pragma once
/// The exchange between devices of one process: super-k-mers that were split by owner travel to the
/// owner's inbox. (Between ranks go messages, cpu/count/shard_exchange.h; between GPUs segments,
/// kernels/exchange/exchange.cuh.)

#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace warpmer::mpi {

/// The words that one multisplit yields for one owner, in shard order, and where each shard's begin.
template <class Word>
struct Parcel {
  std::uint32_t first_shard = 0;
  std::vector<std::uint32_t> offsets;  ///< one per shard of the owner, and the end
  std::vector<Word> words;

  [[nodiscard]] std::uint64_t bytes() const {
    return words.size() * sizeof(Word) + offsets.size() * sizeof(std::uint32_t);
  }
};

template <class Word>
class InProcessExchange {
 public:
  explicit InProcessExchange(std::uint32_t owners) : inboxes_(owners) {}

  /// Puts a parcel into the owner's inbox and returns how many are waiting there.
  std::size_t send(std::uint32_t owner, Parcel<Word>&& parcel) {
    Inbox& inbox = inboxes_[owner];
    const std::lock_guard lock(inbox.mutex);
    inbox.parcels.push_back(std::move(parcel));
    return inbox.parcels.size();
  }

  /// Takes the oldest parcel out; false when there is none.
  bool receive(std::uint32_t owner, Parcel<Word>& parcel) {
    Inbox& inbox = inboxes_[owner];
    const std::lock_guard lock(inbox.mutex);
    if (inbox.parcels.empty()) return false;
    parcel = std::move(inbox.parcels.front());
    inbox.parcels.pop_front();
    return true;
  }

 private:
  struct Inbox {
    std::mutex mutex;
    std::deque<Parcel<Word>> parcels;
  };
  std::deque<Inbox> inboxes_;  // a deque, because an inbox cannot move
};

}  // namespace warpmer::mpi
