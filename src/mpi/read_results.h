#pragma once
/// On rank 0: work that was dealt out to all ranks, and what they say of it, in the order in which it was
/// dealt.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "mpi/process_group.h"

namespace warpmer::mpi {

/// The head that a result begins with. Behind it comes the text, or the message of an error.
struct ResultHead {
  enum class ResultKind : std::uint8_t {
    text,
    not_divisible,  ///< the work was a part of a file, and is not whole records (io/fastx/text_part.h)
    failed,
  };
  ResultKind kind = ResultKind::text;
  bool is_last = false;                   ///< true for the last of this work
  ErrorKind error = ErrorKind::internal;  ///< its kind, when it has failed
  std::uint64_t records = 0;              ///< number of records that end in this text
  /// Number of bases after which the text ends within the next record; 0: between records.
  std::uint64_t open_bases = 0;
};

/// The part of a file's text that has been written.
struct ReadProgress {
  std::uint32_t file = 0;
  std::uint64_t records = 0;
  std::uint64_t open_bases = 0;  ///< bases of the record behind them
};

/// Every rank sends its results in the order in which it got its work, and may have only so many of them
/// waiting here; so the rank that has the work that is next can always send, and no more waits than that.
/// `deal` and what goes with it are called by one thread, `put` by several.
class ReadResults {
 public:
  /// Takes a text; called by one thread at a time, in order.
  using Write = std::function<void(MessageReader& text)>;
  /// So many bytes of a rank's results are no longer here.
  using Release = std::function<void(unsigned rank, std::uint64_t bytes)>;

  /// `most_dealt`: how much work each rank may have that is not written yet.
  ReadResults(std::vector<std::uint64_t> most_dealt, Write write, Release release);

  /// Notes that work on this file goes to a rank: the next that has room, for which it waits. Nothing when it
  /// is not to be given because everything since some file has to be dealt again (`begin_again`), or
  /// `stop` was called.
  std::optional<unsigned> deal(std::uint32_t file);
  /// Waits until everything dealt is written. False in the same cases.
  bool wait_until_written();
  /// Waits, when work was not divisible, until what was dealt after it has come back, in vain, and returns
  /// from where on all has to be dealt again. Nothing after `stop`.
  std::optional<ReadProgress> begin_again();

  /// Takes a rank's next result; writes it, and those of others behind it, if its turn has come. Throws the
  /// Error of one that has failed when everything before it is written.
  void put(unsigned rank, Message&& result);

  /// Lets no thread wait any more.
  void stop() noexcept;

 private:
  struct Dealt {
    unsigned rank = 0;
    std::uint32_t file = 0;
    bool is_void = false;  ///< it will be dealt again
  };

  [[nodiscard]] std::optional<unsigned> rank_with_room() const;
  [[nodiscard]] bool is_next_here() const;
  void write_next(std::unique_lock<std::mutex>& lock);
  void note(std::uint32_t file, const ResultHead& head);
  void call_back(std::uint32_t file);

  const std::vector<std::uint64_t> most_dealt_;
  const Write write_;
  const Release release_;

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::deque<Dealt> dealt_;                ///< not written yet
  std::vector<std::uint64_t> dealt_to_;    ///< number of these, by rank
  unsigned next_rank_ = 0;                 ///< the rank whose turn it is
  std::vector<std::deque<Message>> came_;  ///< by rank, to be written
  ReadProgress progress_;                  ///< progress in the file that is being written
  std::optional<ReadProgress> call_back_;  ///< place from which on all has to be dealt again
  bool is_writing_ = false;                ///< a thread is
  bool is_stopped_ = false;
};

}  // namespace warpmer::mpi
