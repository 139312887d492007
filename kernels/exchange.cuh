#pragma once
/// The exchange of super-k-mers between the GPUs of one process. Each splits what it has cut by list, and
/// lists by owner are ranges, so that a split by list is the multisplit by owner; from time to time the
/// segments of all are transposed (WarpDrive, Juenger et al. 2018, section IV-B): part j of each goes to the
/// GPU that counts the lists of range j, all at once, in ring order.

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/transposition.h"
#include "peers.cuh"
#include "segment.cuh"
#include "span_clock.cuh"

namespace warpmer::gpu {

/// The lists of one GPU, and what becomes of their words. Called with the GPU current, by one thread at a
/// time.
template <int Words>
class ListOwner {
 public:
  virtual ~ListOwner() = default;
  /// Sees to it that so many bytes of words in so many parts can be allocated and added.
  virtual void make_room_for(std::uint64_t bytes, std::uint32_t parts) = 0;
  /// Takes words that are complete.
  virtual void take(Segment<Words>&& segment) = 0;
};

template <int Words>
class Exchange {
 public:
  /// Of a sender's segments, so many are held at once, at most: one that is made, two that wait for those of
  /// the others, one on its way.
  static constexpr std::uint32_t kSegmentsHeld = 4;

  /// `peers` must outlive it.
  Exchange(Peers& peers, std::uint32_t list_bits);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Tells who owns the lists of a GPU. All have to be told before the first `put`.
  void connect(std::uint32_t number, ListOwner<Words>& owner) { owners_[number] = &owner; }

  [[nodiscard]] std::uint32_t size() const { return peers_.size(); }
  [[nodiscard]] int gpu(std::uint32_t number) const { return peers_.gpu(number); }
  /// The first list of a GPU's range, which ends where the next one's begins.
  [[nodiscard]] std::uint32_t first_list(std::uint32_t number) const;

  /// Takes a segment of all lists, complete in the order of `stream`, a stream of the sender, and sends what
  /// is there when every GPU has given one, or this one too many. Thread-safe. Waits for the scan in
  /// `stream`.
  void put(std::uint32_t sender, Segment<Words>&& segment, cudaStream_t stream);
  /// No more segments come from this one. Who says so last sends what is left.
  void end(std::uint32_t sender);

  /// When all is over: the time that a sender's copies took, and its bytes that went to other GPUs.
  [[nodiscard]] double seconds(std::uint32_t sender) const { return senders_[sender].clock.seconds(); }
  [[nodiscard]] std::uint64_t bytes(std::uint32_t sender) const { return senders_[sender].bytes; }

 private:
  /// A segment on its way to the owners.
  struct Outgoing {
    Segment<Words> segment;
    std::vector<std::uint32_t> bounds;  ///< words before each range of lists, and all of them
  };
  /// A GPU as a sender.
  struct Sender {
    std::deque<Outgoing> waiting;
    std::optional<Outgoing> sent;  ///< until `gone` has passed
    std::optional<Stream> copies;
    std::optional<Event> gone;  ///< what was sent
    SpanClock clock;
    std::uint64_t bytes = 0;  ///< that went to others
    bool ended = false;
  };

  [[nodiscard]] std::uint32_t lists_of(std::uint32_t number) const {
    return first_list(number + 1) - first_list(number);
  }
  void transpose();
  std::vector<Segment<Words>> make_room(const comm::PartitionTable& table);
  void send(std::uint32_t sender, std::uint32_t receiver, const Segment<Words>& to,
            const comm::PartitionTable& table);
  void take_arrived();

  Peers& peers_;
  const std::uint32_t list_bits_;
  std::vector<ListOwner<Words>*> owners_;
  std::mutex mutex_;  ///< guards what follows
  std::deque<Sender> senders_;
  std::vector<Segment<Words>> arriving_;  ///< for each GPU, of the last transposition
};

}  // namespace warpmer::gpu
