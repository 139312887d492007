#pragma once
/// Reads that all ranks of a job look at, and what they say of them, in the order of the inputs.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/ordered_stage.h"
#include "io/input_set.h"
#include "io/text/input_list.h"
#include "mpi/process_group.h"
#include "mpi/read_dealer.h"
#include "mpi/read_results.h"

namespace warpmer::mpi {

/// Bytes of results that may wait. One result, of a batch, may be more than there is room for.
struct ResultLimits {
  std::uint64_t unwritten = std::uint64_t{64} << 20;  ///< bytes of all ranks at rank 0, and 1 MiB for each
  std::uint64_t waiting = std::uint64_t{4}
                          << 20;                 ///< bytes of each thread that wait for their turn to be sent
  std::uint64_t held = std::uint64_t{16} << 20;  ///< in the hands of a thread until it sends what it has
};

/// Rank 0 deals work out (mpi/read_dealer.h) and writes results (mpi/read_results.h). Every rank, it
/// included, works on what it was dealt in order, a thread on each, and sends results in that order; those
/// that wait for their turn, here and at rank 0, are bounded in bytes.
class GroupReads {
 public:
  /// Appends what there is to say of a batch; called by threads 0 to `threads` - 1 at once. An InputError is
  /// told in its turn, as one process would.
  using Answer = std::function<void(const io::Batch& batch, unsigned thread, Message& text)>;
  /// On rank 0: takes what `Answer` has said of some batches, in order; called by one thread at a time.
  using Write = ReadResults::Write;

  /// To be called on all ranks together. Rank 0 lists the inputs; errors as io::InputSet has them.
  GroupReads(ProcessGroup& ranks, const std::vector<std::string>& paths, const io::InputOptions& options,
             unsigned threads, const ResultLimits& limits = {});

  /// Makes answers that are under way end soon, by an error: they are no longer wanted. Called by the thread
  /// that talks to other ranks, too: it must not call Ranks, nor wait for anything that does.
  using Cancel = std::function<void()>;

  /// To be called once, on all ranks together.
  void run(const Answer& answer, const Write& write, const Cancel& cancel);

 private:
  class WorkTurn;

  void start_dealing(const Write& write);
  void stop() noexcept;
  // The work of the threads of a rank.
  void answer_all(const Answer& answer, unsigned thread);
  void deal();
  void collect();
  void take_messages();
  // Parts of that.
  void add_work(Message&& work);
  bool next_work(Message& work, std::uint64_t& ordinal);
  void answer_work(const Message& work, WorkTurn& turn);
  void answer_part(MessageReader& work, WorkTurn& turn);
  void deliver(Message&& result);
  void release(std::uint64_t bytes);

  ProcessGroup& ranks_;
  const io::InputOptions options_;
  const unsigned threads_;
  std::vector<io::InputFile> files_;
  std::vector<std::uint64_t> threads_of_;  ///< by rank
  const std::uint64_t most_unwritten_;     ///< bytes of results that a rank may have sent and are not written
  const std::uint64_t most_waiting_;       ///< bytes of results that may wait here before more work is begun
  const std::uint64_t most_held_;
  OrderedStage<Message> in_turn_;

  // On rank 0:
  std::unique_ptr<ReadResults> results_;
  std::unique_ptr<ReadDealer> dealer_;
  std::vector<std::uint64_t> released_;  ///< bytes written, by rank, that it has not been told of
  std::atomic<bool> is_dealt_{false};    ///< and written

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::deque<Message> work_;
  std::uint64_t begun_ = 0;      ///< work that threads have taken
  std::uint64_t waiting_ = 0;    ///< bytes of results that wait for their turn to be sent
  std::uint64_t unwritten_ = 0;  ///< bytes of results that are sent, but not written
  bool has_all_work_ = false;
  bool is_stopped_ = false;
};

}  // namespace warpmer::mpi
