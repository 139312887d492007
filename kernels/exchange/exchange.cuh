#pragma once
/// The exchange of super-k-mers between GPUs, of one process or of several ranks. Each GPU splits the words
/// that it has cut by bin; every owner has a range of bins, so that the split by bin is the multisplit by
/// owner. From time to time the segments of all GPUs are transposed (WarpDrive, Juenger et al. 2018, section
/// IV-B): part j of each goes to the GPU that counts the bins of range j, all at once, in ring order. The
/// last transposition runs beside counting, slice by slice.

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "kernels/count/segment.cuh"
#include "kernels/exchange/carrier.cuh"
#include "kernels/exchange/slices.cuh"
#include "kernels/memory/span_clock.cuh"
#include "mpi/transposition.h"

namespace warpmer::gpu {

/// Takes the words of one GPU's bins. One thread at a time calls it, with the GPU current.
template <int Words>
class BinSink {
 public:
  virtual ~BinSink() = default;
  /// Makes room, so that `bytes` of words in so many parts can be allocated and added.
  virtual void make_room_for(std::uint64_t bytes, std::uint32_t parts) = 0;
  /// Takes a segment that is complete or, if it `comes_in_slices`, complete except for the words (see
  /// Exchange::wait_for_slices). Such a segment is the last.
  virtual void take(Segment<Words>&& segment, bool comes_in_slices) = 0;
};

/// Moves segments in a thread of its own, and gives them to their owners. GPUs have the carrier's numbers.
template <int Words>
class Exchange {
 public:
  /// The largest number of a sender's segments that are held at once: one that is made or waits for its turn
  /// to wait, one that waits for those of the others, and one on its way.
  static constexpr std::uint32_t kSegmentsHeld = 3;

  Exchange(std::unique_ptr<Carrier> carrier, std::uint32_t bin_bits);
  ~Exchange();

  [[nodiscard]] std::uint32_t size() const { return size_; }
  /// Returns the number of this process's first GPU. The numbers of its other GPUs follow.
  [[nodiscard]] std::uint32_t first_own() const { return first_own_; }
  [[nodiscard]] std::uint32_t own() const { return static_cast<std::uint32_t>(senders_.size()); }
  [[nodiscard]] int gpu(std::uint32_t number) const { return carrier_->gpus().gpu(number - first_own_); }
  /// Returns the first bin of a GPU's range, which ends where the next GPU's begins.
  [[nodiscard]] std::uint32_t first_bin(std::uint32_t number) const;

  /// Sets the owner of the bins of one GPU of this process. When all are set, call `start`.
  void connect(std::uint32_t number, BinSink<Words>& owner) { owners_[number - first_own_] = &owner; }
  void start();

  /// Takes a segment of all bins, complete in the order of `stream`, a stream of the sender. It is sent when
  /// every GPU has given one, or one GPU a second. The call waits for the scan in `stream`, and while another
  /// segment of this sender waits. Thread-safe.
  void put(std::uint32_t sender, Segment<Words>&& segment, cudaStream_t stream);
  /// Does the same with the last segment, which may be empty. The last call of this process waits until all
  /// GPUs have received everything, except for the slices of the last segment.
  void end(std::uint32_t sender, Segment<Words>&& last, cudaStream_t stream);
  /// After `end`: waits until this process's GPUs have so many slices of the last segment, if it comes in
  /// slices.
  void wait_for_slices(std::uint32_t slices);
  /// Waits until everything that these GPUs send has arrived, too.
  void wait_until_over();
  /// Ends the exchange, also before that: owners are not called any more when it returns. Other ranks miss
  /// nothing if all GPUs have ended, and the last `end` of this process has returned; else the caller has to
  /// tell them.
  void stop() noexcept;

  /// When all is over: return the time that a sender's moves took, and its bytes that went to other GPUs.
  [[nodiscard]] double seconds(std::uint32_t sender) const {
    return senders_[sender - first_own_].clock.seconds() + late_seconds(sender);
  }
  /// Returns the part of that time that the last round took.
  [[nodiscard]] double late_seconds(std::uint32_t sender) const {
    return senders_[sender - first_own_].last_clock.seconds();
  }
  [[nodiscard]] std::uint64_t bytes(std::uint32_t sender) const {
    return senders_[sender - first_own_].bytes;
  }

 private:
  /// A segment on its way to the owners.
  struct OutgoingSegment {
    Segment<Words> segment;
    std::vector<std::uint32_t> bounds;  ///< number of words before each range of bins, and of all words
  };
  /// A GPU as a sender.
  struct Sender {
    std::deque<OutgoingSegment> waiting;
    std::optional<OutgoingSegment> sent;  ///< only the exchange thread uses it
    std::optional<Stream> moves;
    std::array<std::optional<Event>, 2> gone;  ///< events behind the moves of the last two rounds, by turns
    SpanClock clock, last_clock;               ///< the last round has its own clock
    std::uint64_t bytes = 0;                   ///< bytes that went to other GPUs
    bool ended = false;
  };

  /// One transposition.
  struct ExchangeRound {
    const mpi::PartitionTable& table;
    std::vector<std::uint32_t>
        part_of;              ///< for each sender, the number of its part among those that each GPU receives
    std::uint32_t parts = 0;  ///< number of senders that give something
    std::vector<Segment<Words>> arriving;  ///< one for each GPU of this process
    std::vector<SuperKmer<Words>*>
        words;                ///< words of these segments; owners may have the segments before the words
    std::vector<Move> moves;  ///< not enqueued yet
  };

  /// The time that the exchange thread waits for this process before it listens to other ranks.
  static constexpr std::chrono::microseconds kLook{200};

  [[nodiscard]] std::uint32_t bins_of(std::uint32_t number) const {
    return first_bin(number + 1) - first_bin(number);
  }
  [[nodiscard]] bool is_own(std::uint32_t number) const { return number - first_own_ < own(); }
  void enqueue(std::uint32_t sender, Segment<Words>&& segment, cudaStream_t stream, bool is_last);
  void run() noexcept;
  void carry_all();
  [[nodiscard]] bool is_ready() const;
  [[nodiscard]] bool has_too_many() const;
  void offer();
  void transpose(const mpi::PartitionTable& table, bool is_last);
  void make_room(ExchangeRound& round);
  void send_at_once(ExchangeRound& round);
  void send_in_slices(ExchangeRound& round);
  template <class Add>
  void for_pairs(const ExchangeRound& round, Add&& add) const;
  void add_bins(ExchangeRound& round);
  void add_words(ExchangeRound& round, std::uint32_t first_slice, std::uint32_t end_slice);
  template <class T>
  void add_move(ExchangeRound& round, std::uint32_t sender, std::uint32_t receiver, const T* from, T* to,
                std::size_t n);
  void carry(ExchangeRound& round, std::uint32_t turn);
  void wait(std::uint32_t turn);
  void hand_over(ExchangeRound& round, bool comes_in_slices);
  void note_slices(std::uint32_t there);
  template <class With>
  void with_each_sender(With&& with);

  const std::unique_ptr<Carrier> carrier_;
  mpi::Rounds& rounds_;  ///< used under the lock
  const std::uint32_t size_, first_own_;
  const std::uint32_t bin_bits_;
  std::vector<BinSink<Words>*> owners_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::deque<Sender> senders_;
  std::exception_ptr failure_;
  bool is_handed_over_ = false;     ///< every owner has its last segment
  std::uint32_t slices_there_ = 0;  ///< slices of the last segment that have come
  bool is_over_ = false;
  bool is_stopped_ = false;
  std::thread thread_;  ///< runs `run`
};

}  // namespace warpmer::gpu
