#pragma once
/// The exchange of super-k-mers between GPUs, of one process or of several ranks. Each splits what it has cut
/// by list, and lists by owner are ranges, so that a split by list is the multisplit by owner; from time to
/// time the segments of all are transposed (WarpDrive, Juenger et al. 2018, section IV-B): part j of each
/// goes to the GPU that counts the lists of range j, all at once, in ring order. The last transposition goes
/// beside counting, slice by slice.

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

/// The lists of one GPU, and what becomes of their words. Called with the GPU current, by one thread at a
/// time.
template <int Words>
class ListOwner {
 public:
  virtual ~ListOwner() = default;
  /// Sees to it that so many bytes of words in so many parts can be allocated and added.
  virtual void make_room_for(std::uint64_t bytes, std::uint32_t parts) = 0;
  /// Takes a segment that is complete; or, when it `comes_in_slices`, all of it but the words (see
  /// Exchange::wait_for_slices). That one is the last.
  virtual void take(Segment<Words>&& segment, bool comes_in_slices) = 0;
};

/// GPUs have the numbers of the carrier. A thread of its own moves segments and gives them to their owners.
template <int Words>
class Exchange {
 public:
  /// Of a sender's segments, so many are held at once, at most: one that is made or waits for room to wait,
  /// one that waits for those of the others, one on its way.
  static constexpr std::uint32_t kSegmentsHeld = 3;

  Exchange(std::unique_ptr<Carrier> carrier, std::uint32_t list_bits);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] std::uint32_t size() const { return size_; }
  /// Of the GPUs of this process, the first one's number. The others' follow.
  [[nodiscard]] std::uint32_t first_own() const { return first_own_; }
  [[nodiscard]] std::uint32_t own() const { return static_cast<std::uint32_t>(senders_.size()); }
  [[nodiscard]] int gpu(std::uint32_t number) const { return carrier_->gpus().gpu(number - first_own_); }
  /// The first list of a GPU's range, which ends where the next one's begins.
  [[nodiscard]] std::uint32_t first_list(std::uint32_t number) const;

  /// Tells who owns the lists of a GPU of this process. Then, when all are known, `start`.
  void connect(std::uint32_t number, ListOwner<Words>& owner) { owners_[number - first_own_] = &owner; }
  void start();

  /// Takes a segment of all lists, complete in the order of `stream`, a stream of the sender. It is sent when
  /// every GPU has given one, or one of them a second. Thread-safe. Waits for the scan in `stream`, and while
  /// another one of this sender waits.
  void put(std::uint32_t sender, Segment<Words>&& segment, cudaStream_t stream);
  /// The same, with the last segment, which may be empty. Who says so last of this process's waits until all
  /// GPUs have received everything, but for the slices of what comes last.
  void end(std::uint32_t sender, Segment<Words>&& last, cudaStream_t stream);
  /// Then: waits until this process's GPUs have so many slices of what came last, if it comes in slices.
  void wait_for_slices(std::uint32_t slices);
  /// And until all that they send has arrived, too.
  void wait_until_over();
  /// Ends, also before that: owners are not called any more when it returns. Other ranks miss nothing if all
  /// GPUs have ended, and the `end` of this one's last has returned; else who calls it has to tell them.
  void stop() noexcept;

  /// When all is over: the time that a sender's moves took, and its bytes that went to other GPUs.
  [[nodiscard]] double seconds(std::uint32_t sender) const {
    return senders_[sender - first_own_].clock.seconds() + late_seconds(sender);
  }
  /// Of the time, that of the last round.
  [[nodiscard]] double late_seconds(std::uint32_t sender) const {
    return senders_[sender - first_own_].last_clock.seconds();
  }
  [[nodiscard]] std::uint64_t bytes(std::uint32_t sender) const {
    return senders_[sender - first_own_].bytes;
  }

 private:
  /// A segment on its way to the owners.
  struct Outgoing {
    Segment<Words> segment;
    std::vector<std::uint32_t> bounds;  ///< words before each range of lists, and all of them
  };
  /// A GPU as a sender.
  struct Sender {
    std::deque<Outgoing> waiting;
    std::optional<Outgoing> sent;  ///< the courier's own
    std::optional<Stream> moves;
    std::array<std::optional<Event>, 2> gone;  ///< behind what was moved, by turns
    SpanClock clock, last_clock;               ///< the last round has its own
    std::uint64_t bytes = 0;                   ///< that went to others
    bool ended = false;
  };

  /// One transposition.
  struct Round {
    const mpi::PartitionTable& table;
    std::vector<std::uint32_t> part_of;    ///< its number among the parts that each GPU receives, by sender
    std::uint32_t parts = 0;               ///< senders that give something
    std::vector<Segment<Words>> arriving;  ///< for each GPU of this process
    std::vector<SuperKmer<Words>*> words;  ///< of these; owners may have them before the words
    std::vector<Move> moves;               ///< not enqueued yet
  };

  /// How long the courier waits for this process before it listens to other ranks.
  static constexpr std::chrono::microseconds kLook{200};

  [[nodiscard]] std::uint32_t lists_of(std::uint32_t number) const {
    return first_list(number + 1) - first_list(number);
  }
  [[nodiscard]] bool is_own(std::uint32_t number) const { return number - first_own_ < own(); }
  void enqueue(std::uint32_t sender, Segment<Words>&& segment, cudaStream_t stream, bool is_last);
  void run() noexcept;
  void carry_all();
  [[nodiscard]] bool is_ready() const;
  [[nodiscard]] bool has_too_many() const;
  void offer();
  void transpose(const mpi::PartitionTable& table, bool is_last);
  void make_room(Round& round);
  void send_at_once(Round& round);
  void send_in_slices(Round& round);
  template <class Add>
  void for_pairs(const Round& round, Add&& add) const;
  void add_lists(Round& round);
  void add_words(Round& round, std::uint32_t first_slice, std::uint32_t end_slice);
  template <class T>
  void add_move(Round& round, std::uint32_t sender, std::uint32_t receiver, const T* from, T* to,
                std::size_t n);
  void carry(Round& round, std::uint32_t turn);
  void wait(std::uint32_t turn);
  void hand_over(Round& round, bool comes_in_slices);
  void note_slices(std::uint32_t there);
  template <class With>
  void with_each_sender(With&& with);

  const std::unique_ptr<Carrier> carrier_;
  mpi::Rounds& rounds_;  ///< under the lock
  const std::uint32_t size_, first_own_;
  const std::uint32_t list_bits_;
  std::vector<ListOwner<Words>*> owners_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::deque<Sender> senders_;
  std::exception_ptr failure_;
  bool is_handed_over_ = false;     ///< the last segment of each owner
  std::uint32_t slices_there_ = 0;  ///< of it
  bool is_over_ = false;
  bool is_stopped_ = false;
  std::thread courier_;  ///< runs `run`
};

}  // namespace warpmer::gpu
